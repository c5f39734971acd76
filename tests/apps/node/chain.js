// SPDX-License-Identifier: GPL-2.0-or-later
// A chain of JavaScript functions, each of which calls the next, and whose innermost calls a native function of Node's
// (node::credentials::GetUid) again and again. For benchmarks.
//
// Reads commands, as tests/apps/counter does, and answers those with one:
//   calls NUMBER DEPTH     so many calls on a stack of so many functions      -> done NANOSECONDS A CALL
//   fresh NUMBER DEPTH     each on a stack of functions that are new          -> done NUMBER
//   quit CODE              end, with this exit code
'use strict';

const getuid = process.getuid;
const chains = new Map();

function calls(number) {
  for (let i = 0; i < number; i++) {
    getuid();
  }
}

// No function is like another, as in a program; a chain is called with how many calls are to be made.
function chain(depth) {
  const lines = Array.from({ length: depth - 1 }, (_, i) =>
    `function called${i + 1}(number) { const back = called${i}(number); return back + ${i}; }`);
  return new Function('calls', `
    function called0(number) { calls(number); return 0; }
    ${lines.join('\n')}
    return called${depth - 1};`)(calls);
}

function known(depth) {
  if (!chains.has(depth)) {
    chains.set(depth, chain(depth));
  }
  return chains.get(depth);
}

require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const [command, ...words] = line.split(' ');
  const [number, depth] = words.map(Number);
  switch (command) {
  case 'calls': {
    const called = known(depth);
    const began = process.hrtime.bigint();
    called(number);
    console.log(`done ${Number(process.hrtime.bigint() - began) / number}`);
    break;
  }
  case 'fresh':
    for (let i = 0; i < number; i++) {
      chain(depth)(1);
    }
    console.log(`done ${number}`);
    break;
  default:
    process.exit(number);
  }
});
console.log(`ready ${process.pid}`);
