// SPDX-License-Identifier: GPL-2.0-or-later
// As stacks.js, of modules: one that waits for another, and is a function of its own while it runs.
import fs from 'node:fs';

Error.stackTraceLimit = Infinity;
const [, , file, way] = process.argv;

export function stop() {
  fs.writeFileSync(file, new Error('here').stack);
  fs.writeSync(1, `ready ${process.pid}\n`);
  fs.readSync(0, Buffer.alloc(1));
  process.exit(0);
}

class Steps {
  static #steps = 0;

  static async step(next) {
    this.#steps++;
    return this.#last(next);
  }

  static #last = (next) => next();
}

const other = await import('data:text/javascript,export default class { async call(next) { return next(); } }');

if (way === 'awaited') {
  await Steps.step(() => {});
}
await Steps.step(() => new other.default().call(() => stop()));
