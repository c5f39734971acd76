// SPDX-License-Identifier: GPL-2.0-or-later
// A stack of JavaScript functions (ways.js, more_ways.js) that stands still: the innermost writes `new Error().stack` to a
// file, says "ready" and waits in read() for the end of its input, in the same call.
//
// node stacks.js FILE WAY
'use strict';
const fs = require('fs');
const { Worker, isMainThread } = require('worker_threads');

Error.stackTraceLimit = Infinity;
const [, , file, way] = process.argv;

function stop() {
  fs.writeFileSync(file, new Error('here').stack);
  fs.writeSync(1, `ready ${process.pid}\n`);
  fs.readSync(0, Buffer.alloc(1));
  process.exit(0);
}

globalThis.stop = stop;
const { ways, tiers } = require('./ways');
const { moreWays } = require('./more_ways');

if (way === 'loop' || way === 'called' || way === 'made') {
  const warm = tiers();
  setTimeout(function later() { warm[way](); }, 50);
} else if (way === 'worker' && isMainThread) {
  new Worker(__filename, { argv: process.argv.slice(2) });
} else {
  ({ ...ways, ...moreWays })[way]();
}
