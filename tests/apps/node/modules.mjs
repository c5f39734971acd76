// SPDX-License-Identifier: GPL-2.0-or-later
// As ways.js, of modules: this one runs whenever it is imported anew.
const { stop } = globalThis;

class Steps {
  static #last = (next) => next();

  static async step(next) {
    return this.#last(next);
  }
}

const other = await import('data:text/javascript,export default class { async call(next) { return next(); } }');
await Steps.step(() => new other.default().call(() => stop()));
