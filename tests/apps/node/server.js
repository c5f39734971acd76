// SPDX-License-Identifier: GPL-2.0-or-later
// A busy HTTP server: its handlers go through classes, closures, promises, generators, streams, templates, JSON, and
// what they keep is thrown away soon, so that the collector has work.
//
// node server.js
//
// Reads commands, as tests/apps/counter does, and answers those with one:
//   port           that it listens at, of 127.0.0.1       -> port NUMBER
//   quit CODE      end, with this exit code
'use strict';
const crypto = require('crypto');
const events = require('events');
const fs = require('fs');
const http = require('http');
const { Readable, Transform, pipeline } = require('stream');

class Item {
  #tags = new Set();

  constructor(number) {
    this.number = number;
    this.text = `item ${number}`;
    this.tag(number % 2 ? 'odd' : 'even');
  }

  tag(name) {
    this.#tags.add(name);
    return this;
  }

  get tags() {
    return [...this.#tags];
  }

  toJSON() {
    return { number: this.number, text: this.text, tags: this.tags };
  }

  static * many(count) {
    for (let i = 0; i < count; i++) {
      yield new Item(i);
    }
  }
}

class Page {
  static title = (text) => Page.escape(text);

  static escape(text) {
    return text.replace(/[&<>]/g, (letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[letter]);
  }

  constructor(items) {
    this.items = items;
  }

  rows() {
    return this.items.map((item) => this.row(item)).join('\n');
  }

  row({ number, text, tags }) {
    return `<tr><td>${number}<td>${Page.title(text)}<td>${tags.map(Page.escape)}`;
  }

  toString() {
    return `<table>${this.rows()}</table>`;
  }
}

class Upper extends Transform {
  _transform(chunk, encoding, done) {
    this.push(chunk.toString().toUpperCase());
    done();
  }
}

const log = new events.EventEmitter();
const kept = [];
log.on('request', function keep(name, size) {
  kept.push({ name, size, garbage: Array.from({ length: 50 }, (_, i) => ({ i })) });
  if (kept.length > 200) {
    kept.splice(0, 150);
  }
});

function failing(depth) {
  if (depth > 0) {
    return failing(depth - 1);
  }
  throw new RangeError('as asked');
}

const delayed = (value) => new Promise((resolve) => setImmediate(() => resolve(value)));

const handlers = {
  json(query) {
    const items = [...Item.many(Number(query.count || 30))].sort((a, b) => b.number - a.number);
    return JSON.stringify(items, (key, value) => (key === 'text' ? value.toUpperCase() : value));
  },

  page(query) {
    return String(new Page(Array.from(Item.many(Number(query.count || 20)))));
  },

  async later(query) {
    const parts = await Promise.all([1, 2, 3].map(async (one) => (await delayed(one)) + Number(query.count || 0)));
    return parts.join();
  },

  hash(query) {
    return crypto.createHash('sha256').update(JSON.stringify(query)).digest('hex');
  },

  error(query) {
    try {
      return failing(Number(query.count || 10) % 20);
    } catch (error) {
      return error.message;
    } finally {
      log.emit('failed');
    }
  },

  async file() {
    const text = await fs.promises.readFile(__filename, 'utf8');
    return text.split('\n').filter((line) => /\bclass\b/.test(line)).join('\n');
  },

  parsed(query) {
    const text = JSON.stringify({ list: Array.from({ length: Number(query.count || 20) }, (_, i) => ({ i })) });
    return String(JSON.parse(text, function revive(key, value) {
      return Array.isArray(value) ? value.length : value;
    }).list);
  },
};

function streamed(response) {
  pipeline(Readable.from(Item.many(20), { objectMode: true }).map((item) => `${item.text}\n`), new Upper(), response,
           function piped() { log.emit('request', 'stream', 0); });
}

async function handle(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const [name, query] = [pathname.slice(1), Object.fromEntries(searchParams)];
  if (name === 'stream' && Readable.prototype.map) {
    streamed(response);
    return;
  }
  const handler = handlers[name] || handlers.json;
  const body = await handler.call(handlers, query);
  log.emit('request', name, body.length);
  response.setHeader('Content-Type', 'text/plain');
  response.end(body);
}

const server = http.createServer((request, response) => {
  handle(request, response).catch(function failed(error) {
    response.statusCode = 500;
    response.end(error.stack);
  });
});

server.listen(0, '127.0.0.1', function listening() {
  const input = require('readline').createInterface({ input: process.stdin });
  console.log(`ready ${process.pid}`);
  input.on('line', function command(line) {
    const [word, number] = line.split(' ');
    if (word === 'port') {
      console.log(`port ${server.address().port}`);
    } else {
      process.exit(Number(number));
    }
  });
});
