// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks at calls of native functions, beside what V8 says of them: on each of the ways of ways.js and more_ways.js
// stop() notes `new Error().stack`, and then calls in the same call what tests probe: a function of Node's, a
// builtin of V8 that is in C++, one that is code of V8's own making, and what V8 calls for a throw. The lines where it
// does say so.
//
// node --expose-gc [--allow-natives-syntax] probed.js [collect|PIPE]
//   collect   all that can be is collected around each such call
//   PIPE      stop() waits for a byte from this before it returns
//
// Reads commands, as tests/apps/counter does, and answers those with one:
//   warm ROUNDS             go through all ways so often, without notes  -> warm ROUNDS
//   run ROUNDS FILE WAY...  through these, or all of them; FILE has a line of JSON for each stop -> ran STOPS
//   work ROUNDS FILE        the same in a worker                         -> worked STOPS
//   quit CODE               end, with this exit code
'use strict';
const fs = require('fs');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

Error.stackTraceLimit = Infinity;
const collects = process.argv[2] === 'collect';
// Whoever only reads it waits for a writer.
const pipe = process.argv[2] && !collects ? fs.openSync(process.argv[2], 'r+') : null;
const byte = Buffer.alloc(1);
const GARBAGE = 100;

let noted = [];
let way = '';
let stopped = () => {};
let kept = [];

function collect() {
  globalThis.gc({ type: 'minor' });
  globalThis.gc();
  // What survives next time moves again.
  kept = Array.from({ length: GARBAGE }, (_, i) => ({ i }));
}

function stop() {
  if (noted) {
    noted.push({ way, stack: new Error('here').stack });
  }
  if (collects) {
    collect();
  }
  process.getuid(); // probed: api
  if (collects) {
    collect();
  }
  JSON.parse('1'); // probed: builtin
  [].copyWithin(0); // probed: code
  try {
    throw kept; // probed: runtime
  } catch {
    stopped();
  }
  if (noted && pipe !== null) {
    fs.readSync(pipe, byte);
  }
  return 1;
}

globalThis.stop = stop;
const { ways, tiers } = require('./ways');
const { moreWays, others } = require('./more_ways');

const all = { ...ways, ...moreWays, module: () => import(`./modules.mjs?${Math.random()}`) };
// It is different in a worker, which goes through all the others.
delete all.worker;
if (!collects && process.execArgv.includes('--allow-natives-syntax')) {
  Object.assign(all, tiers());
}

async function go(rounds, names) {
  for (let round = 0; round < rounds; round++) {
    for (way of names) {
      // Whatever a way throws ends the process, also within what is called back.
      await new Promise((resolve) => {
        stopped = resolve;
        Promise.resolve((all[way] || others[way])()).catch((error) => setImmediate(() => { throw error; }));
      });
      // What it has begun comes to its end.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function note(rounds, names) {
  noted = [];
  await go(rounds, names);
  return noted;
}

function write(file, stops) {
  fs.writeFileSync(file, stops.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return stops.length;
}

const commands = {
  async warm(rounds) {
    noted = null;
    await go(rounds, Object.keys(all));
    console.log(`warm ${rounds}`);
  },

  async run(rounds, file, ...names) {
    console.log(`ran ${write(file, await note(rounds, names.length ? names : Object.keys(all)))}`);
  },

  work(rounds, file) {
    const worker = new Worker(__filename, { argv: process.argv.slice(2), workerData: rounds });
    worker.once('message', (stops) => worker.once('exit', () => console.log(`worked ${write(file, stops)}`)));
  },

  quit(code) {
    process.exitCode = code;
    process.stdin.destroy();
  },
};

if (isMainThread) {
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const [command, number, ...words] = line.split(' ');
    commands[command](Number(number), ...words);
  });
  console.log(`ready ${process.pid}`);
} else {
  note(workerData, Object.keys(all)).then((stops) => parentPort.postMessage(stops));
}
