// SPDX-License-Identifier: GPL-2.0-or-later
// Chains of calls, JavaScript -> .NET -> JavaScript ..., of which each notes down what the engines say is on the stack.
//
// node mixed.js addon ADDON [HOSTFXR CONFIG ASSEMBLY]    by the addon; without the rest in a .NET process
// node mixed.js package DIRECTORY FRAMEWORK ASSEMBLY     by node-api-dotnet in a folder of node_modules
//
// Reads a line "run END LEVELS CALLS WHERE FILE": makes so many chains through so many levels of .NET, on the "main"
// thread, a "worker" or "both" at a time, and says "ran CALLS". At the END of a chain .NET sleeps ("sleep"), the addon
// reaches its function ("reach") or Node opens a file ("open"). FILE, and FILE.worker of a worker, then have a line for
// the thread and one for each chain: a JSON array of [ENGINE, FRAMES], innermost first, FRAMES being an Error's lines or
// a StackTrace's methods.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

Error.stackTraceLimit = Infinity;

const bridge = makeBridge(isMainThread ? process.argv.slice(2) : workerData);

function makeBridge([how, file, ...words]) {
  if (how === 'addon') {
    const addon = require(path.resolve(file));
    if (words.length && isMainThread) {
      addon.host(...words.map((word) => path.resolve(word)));
    }
    return addon;
  }
  const [framework, assembly] = words;
  const dotnet = require(`${path.resolve(file)}/node-api-dotnet/${framework}`);
  dotnet.load(path.resolve(assembly));
  return { enter: dotnet.Mixed.Chain.Enter };
}

// What is on the stack, innermost first.
class Ledger {
  chains = [];
  // How many JavaScript functions there were wherever one has called .NET, the outermost first.
  depths = [];
  // Methods, in parts by what native code has called.
  managed = [];

  // What .NET says of itself while JavaScript functions are on top.
  noteUnder(managed) {
    this.managed = this.parse(managed).slice(1);
  }

  note(frames, managed) {
    this.depths.push(frames.length);
    const script = this.depths.map((depth, at) => frames.slice(-depth, frames.length - (this.depths[at - 1] || 0)));
    const parts = {
      js: script.reverse().map((part) => ['js', part]),
      dotnet: (managed ? this.parse(managed) : this.managed).map((part) => ['dotnet', part]),
    };
    const [on, under] = managed ? [parts.dotnet, parts.js] : [parts.js, parts.dotnet];
    this.newest = on.flatMap((part, at) => [part, ...under.slice(at, at + 1)]);
  }

  parse(managed) {
    return managed.split('|').map((part) => part.split(';').filter(Boolean)).filter((part) => part.length);
  }

  endChain() {
    this.chains.push(JSON.stringify(this.newest));
    this.depths = [];
  }
}

let ledger;

// Called with its methods by .NET, or by others without any: what is on the stack, but for this function.
function note(managed) {
  const lines = new Error().stack.split('\n').filter((line) => line.startsWith('    at '));
  ledger.note(lines.slice(1).map((line) => line.slice(7)), managed);
  return lines.length;
}

function noteUnder(managed) {
  ledger.noteUnder(managed);
  return 0;
}

const ends = {
  reach() {
    bridge.enter(-1, note, noteUnder);
    return bridge.reach(note);
  },

  open() {
    bridge.enter(-1, note, noteUnder);
    note(''); fs.closeSync(fs.openSync('/dev/null'));
    return 0;
  },
};

class Walk {
  #end;

  constructor(end) {
    this.#end = ends[end];
  }

  first(levels) {
    return [levels].map((one) => this.cross(one))[0];
  }

  cross(levels) {
    return bridge.enter(levels, (left) => this.#back(left), note);
  }

  #back(left) {
    return left === 0 && this.#end ? this.#end() : this.first(left);
  }
}

function run(end, levels, calls, file) {
  ledger = new Ledger();
  for (let call = 0; call < calls; call++) {
    new Walk(end).first(levels);
    ledger.endChain();
  }
  const thread = path.basename(fs.readlinkSync('/proc/thread-self'));
  fs.writeFileSync(file, [thread, ...ledger.chains, ''].join('\n'));
  return calls;
}

let worker;

// Started when it is asked for, and kept.
function runWorker(...words) {
  worker ??= new Worker(__filename, { workerData: process.argv.slice(2) });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve).once('error', reject).postMessage(words);
  });
}

async function obey([verb, end, levels, calls, where, file]) {
  if (verb !== 'run') {
    process.exit(0);
  }
  const elsewhere = where === 'main' ? 0 : runWorker(end, +levels, +calls, `${file}.worker`);
  const here = where === 'worker' ? 0 : run(end, +levels, +calls, file);
  fs.writeSync(1, `ran ${here + (await elsewhere)}\n`);
}

if (isMainThread) {
  fs.writeSync(1, `ready ${process.pid}\n`);
  readline.createInterface({ input: process.stdin }).on('line', (line) => obey(line.split(' ')));
} else {
  parentPort.on('message', (words) => parentPort.postMessage(run(...words)));
}
