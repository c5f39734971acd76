// SPDX-License-Identifier: GPL-2.0-or-later
// As ways.js: ways that go through what the language's library, Node's own JavaScript and other engines within V8 do.
'use strict';
const { AsyncLocalStorage, AsyncResource } = require('async_hooks');
const assert = require('assert');
const events = require('events');
const fs = require('fs');
const Module = require('module');
const stream = require('stream');
const util = require('util');
const vm = require('vm');
const { MessageChannel } = require('worker_threads');

const { stop } = globalThis;

// (import "m" "f" (func $f)) (func (export "g") call $f)
const WASM = Buffer.from('0061736d0100000001040160000002070101' + '6d01660000' + '03020100' + '070501016700' + '01' +
                         '0a0601040010000b', 'hex');

class Traps {
  apply(target, self, values) { return Reflect.construct(values[0], []); }
  construct(target, values) { stop(); return {}; }
  ownKeys() { return ['one']; }
  getOwnPropertyDescriptor() { return { value: this.next(), configurable: true, enumerable: true }; }
  defineProperty(target, key, { value }) { value(); return true; }
  deleteProperty(target, key) { return target.deleting(); }
  getPrototypeOf() { this.next(); return null; }
  set(target, key, value) { value(); return true; }
}

const moreWays = {
  deep() {
    (function again(depth) {
      return depth ? again(depth - 1) + 1 : stop();
    })(600);
  },

  trapped() {
    const traps = new Traps();
    const made = new Proxy(class {}, traps);
    traps.next = () => new Proxy(function () {}, traps)(made);
    const asked = new Proxy({}, traps);
    const put = new Proxy({ deleting() { return Object.keys(asked).length > 0; } }, traps);
    put.set = () => Object.defineProperty(put, 'define', { value: () => delete put.anything, configurable: true });
  },

  prototypes() {
    const traps = new Traps();
    traps.next = stop;
    void (new Proxy({}, traps) instanceof Object);
  },

  converted() {
    const number = { valueOf() { return `${{ [Symbol.toPrimitive](hint) { stop(); return hint; } }}`; } };
    const text = { toString: () => String(number + 1) };
    const key = { toString() { return [text].join(); } };
    void ({})[key];
  },

  instances() {
    class Even { static [Symbol.hasInstance](number) { return stop() && number % 2 === 0; } }
    void (1 instanceof Even);
  },

  defaults() {
    function called(first = (() => second())(), { inner = first() } = {}, ...[last = inner()]) { return last; }
    const second = () => () => function given() { stop(); };
    called();
  },

  destructured() {
    const { one: { two = [function named() { return stop(); }][0]() } } = { one: {} };
    return two;
  },

  spread() {
    const list = { * [Symbol.iterator]() { yield* [1, stop()]; } };
    return Math.max(...list);
  },

  left() {
    const iterator = { next() { return {}; }, return() { stop(); return {}; }, [Symbol.iterator]() { return this; } };
    for (const one of iterator) {
      void one;
      break;
    }
  },

  thrown() {
    function* generator() {
      try {
        yield 1;
      } catch (error) {
        yield error();
      } finally {
        stop();
      }
    }
    const made = generator();
    made.next();
    made.throw(() => made.toString());
    made.return(1);
  },

  caught() {
    function thrower(depth) {
      if (depth === 0) {
        throw { then: stop };
      }
      try {
        thrower(depth - 1);
      } finally {
        depth++;
      }
    }
    try {
      thrower(5);
    } catch ({ then }) {
      (() => {
        try { null.anything(); } catch { then(); }
      })();
    }
  },

  arrays() {
    [1].flatMap((one) => [one].filter(() => [1, 2].some(() => [0].find(() => [1].findIndex(() =>
      new Float64Array([3, 1]).sort(() => [1].every(function each() {
        return Array.prototype.reduceRight.call([1, 2], () => Uint8Array.from([1], () => stop()));
      }) - 1))))));
  },

  strings() {
    'a-b'.replaceAll('-', () => 'x'.split({ [Symbol.split]() {
      return 'y'.replace({ [Symbol.replace]: () => /z/[Symbol.replace]('z', () => {
        const regexp = /q/g;
        regexp.exec = function exec() { stop(); return null; };
        return 'q'.match(regexp);
      }) }, '');
    } }));
  },

  applied() {
    function target(next) { return next.apply(this, arguments.length ? [stop] : []); }
    const bound = target.bind({}, (next) => Reflect.apply(Function.prototype.call, next, [null]));
    const again = bound.bind(null);
    return [1].map(again.call.bind(again, null));
  },

  defined() {
    const object = Object.defineProperties({}, { got: { get: stop }, put: { set(value) { void value.got; } } });
    class Accessor {
      static get #hidden() { return object.got; }
      static get shown() { return this.#hidden; }
      static set [`computed ${1}`](value) { void this.shown; }
      static async *[Symbol.asyncIterator]() { this['computed 1'] = 1; yield 1; }
    }
    Accessor[Symbol.asyncIterator]().next();
  },

  anonymous() {
    const object = { list: [() => ((() => stop)())()], nested: {} };
    object.nested.later = function () { return object.list[0](); };
    object['with space'] = () => object.nested.later();
    (function () { return (0, object['with space'])(); })();
    (class { constructor() { stop(); } }, new (class { constructor() { stop(); } })());
  },

  sloppy() {
    new Function('stop', `
      with ({ inner() { return stop(); } }) {
        (function callee(times) { return times ? arguments.callee.call(5, times - 1) : inner(); })(2);
      }`)(stop);
  },

  switched() {
    // Far from the first line and the first column.
    /* eslint-disable */ const far = () => { const list = [1, 2, 3]; switch (list.length) { case 3: { label: for (;;) { stop(); break label; } } } }; far();
    vm.runInThisContext(`${'\n'.repeat(70000)}${' '.repeat(3000)}(next) => next()`, { filename: 'far.js' })(stop);
  },

  compiled() {
    const module = new Module('/virtual/module.js');
    module.paths = [];
    module._compile('#!anything\nrequire("util").inspect; exports.made = ((next) => next())(globalThis.stop);\n',
                    '/virtual/module.js');
    vm.compileFunction('\n\nreturn (() => next())()', ['next'], { filename: 'function.js', lineOffset: 3 })(stop);
  },

  named() {
    const object = {};
    Object.defineProperty(object, 'method', { value: Object.defineProperty(() => stop(), 'name', { value: 'given' }) });
    object.method();
  },

  inspected() {
    const asked = { [util.inspect.custom](depth, options) { assert.throws(() => { stop(); throw new Error('x'); });
      return options.stylize('a', 'special'); } };
    util.format('%o %s', asked, { toString: () => 1 });
  },

  emitted() {
    const target = new EventTarget();
    const emitter = new events.EventEmitter();
    emitter.once('event', () => target.dispatchEvent(new Event('event')));
    target.addEventListener('event', { handleEvent() { controller.abort(); } });
    const controller = new AbortController();
    controller.signal.addEventListener('abort', function aborted() { stop(); });
    emitter.emit('event', 1, 2, 3, 4);
  },

  stored() {
    const storage = new AsyncLocalStorage();
    storage.run(1, () => new AsyncResource('Named').runInAsyncScope(function scoped() {
      storage.exit(stop);
    }));
  },

  messaged() {
    const { port1, port2 } = new MessageChannel();
    port1.on('message', function received() {
      port1.close();
      stop();
    });
    port2.postMessage(1);
  },

  files() {
    fs.stat(__filename, function found() {
      fs.promises.readFile(__filename).then(() => fs.access('/', stop));
    });
  },

  async streams() {
    class Source extends stream.Readable {
      _read() { this.push(null); }
    }
    class Through extends stream.Transform {
      _flush(done) { this.push('x'); done(); }
    }
    for await (const chunk of stream.pipeline(new Source(), new Through(), () => {})) {
      await new Promise((resolve) => stream.finished(stream.Readable.from([chunk]).resume(), function finished() {
        resolve(stop());
      }));
    }
  },

  async gathered() {
    await Promise.all([Promise.race([util.promisify(setImmediate)(1)]).finally(() => Promise.any([
      (async () => { for await (const one of [Promise.resolve(1)]) { stop(one); } })()]))]);
  },

  finalized() {
    moreWays.registry = new FinalizationRegistry(function finalize() { stop(); });
    (() => moreWays.registry.register({}, 1))();
    const collect = () => setImmediate(() => globalThis.gc());
    collect();
  },
};

// Frames of another engine within V8.
const others = {
  wasm() {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(WASM), { m: { f() { stop(); } } });
    [1].forEach(() => exports.g());
  },
};

module.exports = { moreWays, others };
