// SPDX-License-Identifier: GPL-2.0-or-later
// A Node process under stress: three workers that allocate, collect, throw and catch, each in an isolate of
// its own, beside a main thread that does the same.
//
// Reads a line "run ROUNDS" and prints what the workers have computed; ends with its input.
'use strict';
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto');

function thrown(depth) {
  if (depth > 0) {
    return thrown(depth - 1);
  }
  throw new Error('thrown');
}

function storm(rounds) {
  const hash = crypto.createHash('sha256');
  for (let round = 0; round < rounds; round++) {
    const kept = [];
    for (let i = 0; i < 5000; i++) {
      kept.push({ number: i, text: 'x' + i, more: [i, i + 1] });
    }
    try {
      thrown(round % 30);
    } catch (error) {
      hash.update(error.message);
    }
    kept.sort((a, b) => b.number - a.number);
    hash.update(kept[round % kept.length].text);
  }
  return hash.digest('hex');
}

function run(rounds) {
  const results = [];
  const busy = setInterval(() => storm(1), 10);
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    worker.on('message', (result) => {
      results.push(result);
      if (results.length === 3) {
        clearInterval(busy);
        console.log(results.sort().join(' '));
      }
    });
    worker.postMessage(rounds + i);
  }
}

if (isMainThread) {
  console.log(`ready ${process.pid}`);
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    run(Number(line.split(' ')[1]));
  });
} else {
  parentPort.once('message', (rounds) => {
    parentPort.postMessage(storm(rounds));
  });
}
