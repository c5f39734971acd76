// SPDX-License-Identifier: GPL-2.0-or-later
// Write the source maps that real tools make (map-*), and what npm's "source-map" says of each place in the scripts
// (map-*.places): in a directory elsewhere `npm install source-map@0.7.6 typescript@5.9.3 esbuild@0.28.2 terser@5.51.2`,
// then `node source_maps.js DIRECTORY`.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { createRequire } = require('module');

const find = createRequire(path.resolve(process.argv[2], 'x.js'));
const { SourceMapConsumer } = find('source-map');
const typescript = find('typescript');
const esbuild = find('esbuild');
const terser = find('terser');

const ORDERS = `import { total } from './basket';

interface Order { id: number; größe: number[]; }

export class Orders<T extends Order> {
  private readonly all: T[] = [];

  constructor(public name: string = 'orders') {}

  async place(order: T): Promise<number> {
    this.all.push(order);
    const { id, ...rest } = order;
    await this.check(id ?? 0);
    return total(rest.größe.map((one) => one * 2));
  }

  private async check(id: number): Promise<void> {
    if (this.all.some((other) => other?.id === id && other !== this.all.at(-1))) {
      throw new Error(\`\${this.name}: \${id} is there already\`);
    }
  }
}

enum Kind { Small = 1, Large }

export const kinds = Object.keys(Kind).filter((key) => isNaN(Number(key)));
void new Orders().place({ id: Kind.Large, größe: [1, 2] }).then((sum) => console.log('sum', sum, kinds));
`;
const BASKET = `
/** What is in it. */
export function total(prices: number[]): number {
  let sum = 0;
  for (const price of prices) {
    sum += price;
  }
  return sum;
}

export default (prices?: number[]) => total(prices ?? []);
`;

function write(name, content) {
  fs.writeFileSync(path.join(__dirname, name), content);
}

// A line for each place from which on something else is said: line, column, source, line, column, name; all numbers
// from 1.
function places(consumer, script) {
  const out = [];
  let before;
  script.split('\n').forEach((text, line) => {
    for (let column = 0; column <= text.length; column++) {
      const said = consumer.originalPositionFor({ line: line + 1, column });
      const told = said.source === null ? '-' :
        [said.source, said.line, said.column + 1, said.name ?? '-'].join('\t');
      if (column === 0 || told !== before) {
        out.push(`${line + 1}\t${column + 1}\t${told}`);
      }
      before = told;
    }
  });
  return `${out.join('\n')}\n`;
}

async function check(name, script, map) {
  await SourceMapConsumer.with(map, null, (consumer) => write(`${name}.places`, places(consumer, script)));
}

function compile() {
  const compilerOptions = {
    target: typescript.ScriptTarget.ES5, module: typescript.ModuleKind.CommonJS, sourceMap: true,
    sourceRoot: '/srv/shop/src', inlineSources: true,
  };
  const made = typescript.transpileModule(ORDERS, { compilerOptions, fileName: 'orders.ts' });
  return [made.outputText, made.sourceMapText];
}

function bundle(directory) {
  fs.mkdirSync(path.join(directory, 'src'));
  fs.writeFileSync(path.join(directory, 'src/orders.ts'), ORDERS);
  fs.writeFileSync(path.join(directory, 'src/basket.ts'), BASKET);
  const outfile = path.join(directory, 'out/deep/bundle.js');
  esbuild.buildSync({
    absWorkingDir: directory, entryPoints: ['src/orders.ts'], outfile, bundle: true, minify: true,
    platform: 'node', target: 'node16', sourcemap: 'inline', logLevel: 'error',
  });
  return fs.readFileSync(outfile, 'utf8');
}

async function main() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'maps-'));
  const [script, map] = compile();
  write('map-tsc.js', script);
  write('map-tsc.json', map);
  await check('map-tsc', script, map);

  const bundled = bundle(directory);
  const inline = Buffer.from(bundled.slice(bundled.lastIndexOf('base64,') + 7), 'base64').toString();
  write('map-esbuild.js', bundled);
  await check('map-esbuild', bundled.slice(0, bundled.lastIndexOf('//#')), inline);

  const small = await terser.minify({ 'orders.js': script }, {
    toplevel: true, sourceMap: { content: map, url: 'orders.min.js.map' },
  });
  write('map-terser.js', small.code);
  write('map-terser.json', small.map);
  await check('map-terser', small.code, small.map);

  // Both behind each other in one line: as what puts scripts together makes it.
  const text = script.replace(/\n[^\n]*\n?$/, '');
  const last = text.split('\n').pop();
  const both = JSON.stringify({
    version: 3,
    sections: [
      { offset: { line: 0, column: 0 }, map: JSON.parse(map) },
      { offset: { line: text.split('\n').length - 1, column: last.length + 1 }, map: JSON.parse(small.map) },
    ],
  });
  write('map-index.js', `${text};${small.code}`);
  write('map-index.json', both);
  await check('map-index', `${text};${small.code}`, both);
  fs.rmSync(directory, { recursive: true });
}

main();
