// SPDX-License-Identifier: GPL-2.0-or-later
// A Node process under stress: three workers that allocate, collect, throw and catch, each in an isolate of
// its own, beside a main thread that does the same.
//
// Reads commands, as tests/apps/counter does, and answers those with one:
//   run ROUNDS   each worker goes through so many rounds, or one or two more, and ends   -> ran DIGEST...
//   quit CODE    end, with this exit code
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
  let ended = 0;
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    worker.on('message', (result) => results.push(result));
    worker.on('exit', (code) => {
      if (code !== 0) {
        results.push(`exit-${code}`);
      }
      if (++ended === 3) {
        clearInterval(busy);
        console.log(`ran ${results.sort().join(' ')}`);
      }
    });
    worker.postMessage(rounds + i);
  }
}

if (isMainThread) {
  const input = require('readline').createInterface({ input: process.stdin });
  console.log(`ready ${process.pid}`);
  input.on('line', (line) => {
    const [command, number] = line.split(' ');
    if (command === 'run') {
      run(Number(number));
    } else {
      process.exitCode = Number(number);
      process.stdin.destroy();
    }
  });
} else {
  parentPort.once('message', (rounds) => {
    parentPort.postMessage(storm(rounds));
  });
}
