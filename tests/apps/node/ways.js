// SPDX-License-Identifier: GPL-2.0-or-later
// The ways by which JavaScript functions come to be on a stack. Each calls in the end, at once or once it is called
// back, the function globalThis.stop, which is there before this file is loaded: that of stacks.js waits for ever,
// that of probed.js calls what is probed and goes on.
'use strict';
const vm = require('vm');

const { stop } = globalThis;

// Classes ------------------------------------------------------------------------------------

class Base {
  constructor(next) {
    this.next = next;
  }

  begin() {
    this.next();
  }
}

class Klass extends Base {
  static made = 0;
  field = () => this.arrow();
  #secret = 1;

  begin() {
    Klass.count(this);
  }

  static count(it) {
    Klass.made++;
    return it.#hidden();
  }

  #hidden() {
    return this.#late;
  }

  get #late() {
    return super.begin();
  }

  arrow() {
    return [this.#secret].map((value) => this.visible + value);
  }

  get visible() {
    this.shown = 1;
    return 1;
  }

  set shown(value) {
    this[Symbol.for('called')](value);
  }

  [Symbol.for('called')](value) {
    this['by name'](value);
  }

  'by name'(value) {
    this.last();
  }

  static table = { last() { stop(); } };
}

class WithInitialiser {
  value = deepest.call(this);
}

// Functions ----------------------------------------------------------------------------------

let deepest = stop;

function Constructed(next) {
  this.made = next();
}

function* generated(next) {
  yield 1;
  yield next();
}

async function asynchronous(next) {
  next();
  await null;
}

async function* both(next) {
  yield next();
}

const object = {
  next: null,
  plain() { return this.next(); },
  get got() { return this.plain(); },
  set put(next) { this.next = next; void this.got; },
  arrow: (next) => next(),
  [`computed${1}`]: function (next) { object.put = next; },
  renamed: anything,
  nested: { deeper: { call: function (next) { return next(); } } },
};

function anything(next) {
  return object.arrow(next);
}

const ways = {
  functions() {
    (function () {
      (() => {
        new Constructed(function inner() {
          const iterator = generated(stop);
          iterator.next();
          return iterator.next();
        });
      })();
    })();
  },

  methods() {
    object.renamed(() => object.computed1(() => object.nested.deeper.call(stop)));
  },

  classes() {
    const made = new Klass(() => made.field());
    made.last = Klass.table.last;
    made.begin();
  },

  constructors() {
    class Outer extends (class extends Constructed {}) {}
    void new (class extends Outer {})(() => new Klass(stop).begin());
  },

  initialisers() {
    deepest = function viaCall() {
      void class {
        static made = [1].map(() => new (class Inner { static at = stop(); })());
      };
    };
    void new WithInitialiser();
  },

  builtins() {
    let first = true;
    [3, 1, 2].sort(function compare(a, b) {
      if (first) {
        first = false;
        [1].forEach((one) => JSON.parse('[1]', function revive(key, value) {
          if (key !== '0') {
            return value;
          }
          return 'x'.replace(/x/, () => JSON.stringify({ toJSON() {
            return Array.from([1], (two) => [two].reduce((x, y) => {
              return Reflect.apply(Reflect.construct, null, [function Target() {
                new Map([[1, 2]]).forEach((three) => new Set([1]).forEach(stop));
              }, []]);
            }, 0));
          } }));
        }));
      }
      return a - b;
    });
  },

  reflected() {
    const proxy = new Proxy({}, {
      get(target, key) { return Reflect.get({ get property() { stop(); return 1; } }, 'property'); },
      has(target, key) { return this.get(target, key); },
    });
    const bound = function original() { return 'anything' in proxy; }.bind(null);
    const tagged = (strings, ...values) => `${{ toString() { return bound(); } }}`;
    return Function.prototype.call.call(() => tagged`a${1}`);
  },

  iterated() {
    const iterable = { [Symbol.iterator]() { return { next() { stop(); return { done: true }; } }; } };
    for (const one of { * [Symbol.iterator]() { yield* iterable; } }) {
      void one;
    }
  },

  evaluated() {
    globalThis.leave = stop;
    const made = new Function('next', 'return next()');
    eval('(function evaluated() {\n  return made(() => eval("1;\\n leave()")); })()');
  },

  contexts() {
    const context = vm.createContext({ next: stop });
    globalThis.inContext = () => vm.runInContext('\n  (function other() { next(); })()', context);
    vm.runInThisContext('(function shifted() { inContext(); })()',
      { filename: '/virtual/script.js', lineOffset: 10, columnOffset: 7 });
  },

  wide() {
    // Names and scripts of characters that need two bytes, and lines that do not end in a newline.
    vm.runInThisContext('\u2028 \r\n \r (function größe(weiter) { return { 名前() { weiter(); } }.名前(); })',
      { filename: '/virtual/скрипт.js' })(stop);
  },

  asynchronous() {
    asynchronous(() => both(stop).next());
  },

  async awaited() {
    await asynchronous(() => {});
    await new Promise((resolve) => setTimeout(resolve, 1));
    const resumed = async () => { await null; stop(); };
    await resumed();
  },

  promises() {
    Promise.resolve(1).then(function fulfilled() {
      return new Promise(function executor(resolve) {
        resolve({ then(next) { stop(); } });
      });
    });
  },

  timers() {
    setImmediate(function immediate() {
      process.nextTick(function ticked() {
        queueMicrotask(function task() {
          setTimeout(function timed() {
            const emitter = new (require('events'))();
            emitter.on('event', function listener() { stop(); });
            emitter.emit('event');
          }, 1);
        });
      });
    });
  },

  worker() {
    // In a worker, see below.
    eval('\n(() => stop())()');
  },

  recursion() {
    (function again(depth) {
      return depth === 0 ? stop() :
        depth % 2 ? again(depth - 1) :
          [depth].map(() => again(depth - 1))[0];
    })(500);
  },

  long() {
    // Offsets and jumps that need more than a byte each.
    const calls = Array.from({ length: 400 }, (_, i) => `x += ${i * 1000}; if (x === ${-1 - i}) { x = y${i % 7}; }`);
    const names = Array.from({ length: 7 }, (_, i) => `y${i} = ${i}`);
    new Function('next', `let x = 0, ${names};\n${calls.join('\n')}\n next(x);`)(stop);
  },
};

// Functions that are warm by then, so that their tiers are what they become in time.
function tiers() {
  function leaf(number) {
    if (number === 77) {
      stop();
    }
    return number + 1;
  }

  function small(number) {
    const got = leaf(number); return got + 1;
  }

  function smaller(number) {
    return small(number) +
      2;
  }

  class Warm {
    constructor(value) { this.value = smaller(value); }
    method(number) { return smaller(number) + 3; }
    get got() { return this.method(this.number); }
  }

  function outer(warm, number) {
    warm.number = number;
    let sum = 0;
    for (let i = 0; i < 2; i++) {
      sum += warm.got;
    }
    return sum;
  }

  function loop(warm, numbers) {
    let sum = 0;
    for (const number of numbers) {
      sum += outer(warm, number) + new Warm(number).value;
    }
    return sum;
  }

  function called(warm, numbers) {
    let sum = 0;
    numbers.forEach((number) => { sum += outer(warm, number); });
    return sum + numbers.map(function mapped(number) {
      return loop(warm, [number]);
    }).length;
  }

  const made = (warms, number) => warms.reduce((sum, one) => {
    return sum + Reflect.construct(Warm, [number]).value + new Warm(number).value + one.got;
  }, 0);

  let noOptimization = () => {};
  try {
    noOptimization = new Function('f', '%NeverOptimizeFunction(f)');
  } catch (error) {
    // Without --allow-natives-syntax it may be optimised.
  }
  noOptimization(leaf);
  const warm = new Warm(0);
  for (let i = 0; i < 30000; i++) {
    loop(warm, [1, 2, 3]);
    called(warm, [1, 2, 3]);
    made([warm, warm], i % 7);
  }
  return {
    loop() { loop(warm, [1, 77]); },
    called() { called(warm, [1, 77]); },
    made() { made([warm, warm], 77); },
  };
}

module.exports = { ways, tiers };
