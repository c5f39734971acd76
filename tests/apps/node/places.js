// SPDX-License-Identifier: GPL-2.0-or-later
// Whether functions are where frames of a stack say: reads lines [NAME, SCRIPT, LINE, COLUMN] of JSON, parses what
// the script says with what Node has for that, and prints those whose place is in no function of this name.
//
// node --expose-internals --no-deprecation places.js
'use strict';
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const fs = require('fs');

const natives = process.binding('natives');
const OPTIONS = {
  ecmaVersion: 'latest', locations: true, allowHashBang: true, allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true, allowSuperOutsideMethod: true,
};
// Functions that Node gives other names, by the property that has them.
const RENAMED = { 'node:stream': ['fn'], 'node:internal/errors': ['wrappedFn', 'hidden'] };
// What V8 infers for a function without a name from what stands before it: `if (done) { ... } new Promise((resolve) =>`.
// Its Error.stack has that name as well.
const INFERRED = { 'node:internal/streams/operators': ['done'] };
const parsed = new Map();

function textOf(script) {
  return script.startsWith('node:') ? natives[script.slice('node:'.length)] : fs.readFileSync(script, 'utf8');
}

function parse(script) {
  if (!parsed.has(script)) {
    const text = textOf(script);
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      starts.push(at + 1);
    }
    parsed.set(script, { starts, tree: acorn.parse(text, OPTIONS) });
  }
  return parsed.get(script);
}

function isNode(value) {
  return value && typeof value.type === 'string';
}

function childrenOf(node) {
  return Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value])).filter(isNode);
}

// The nodes around a place, the outermost first.
function around(tree, at) {
  const found = [];
  for (let node = tree; node; node = childrenOf(node).find(({ start, end }) => start <= at && at < end)) {
    found.push(node);
  }
  return found;
}

// What V8 may call what is assigned to this.
function namesOf(target) {
  switch (target && target.type) {
  case 'Identifier': return [target.name];
  case 'PrivateIdentifier': return [`#${target.name}`];
  case 'Literal': return [String(target.value)];
  case 'MemberExpression': return target.computed ? ['<computed>'] : namesOf(target.property);
  default: return [];
  }
}

const isFunction = ({ type }) => /Function/.test(type);
const isClass = ({ type }) => /^Class(Declaration|Expression)$/.test(type);

function namesAt(nodes, at) {
  const node = nodes[at];
  const names = namesOf(node.id);
  // Parentheses are no nodes; calls may pass on what V8 takes for its name.
  for (let outer = at - 1; outer >= 0 && outer >= at - 3; outer--) {
    const parent = nodes[outer];
    switch (parent.type) {
    case 'VariableDeclarator':
      names.push(...namesOf(parent.id));
      break;
    case 'AssignmentExpression':
    case 'AssignmentPattern':
      names.push(...namesOf(parent.left));
      break;
    case 'PropertyDefinition':
    case 'Property':
    case 'MethodDefinition':
      names.push(...(parent.computed ? [null] : namesOf(parent.key)));
      if (parent.kind === 'constructor') {
        names.push(...namesAt(nodes, outer - 2));
      }
      break;
    default:
    }
    if (isFunction(parent) || isClass(parent)) {
      break;
    }
  }
  return names;
}

function lastFunction(nodes, last) {
  let at = last;
  while (at > 0 && !isFunction(nodes[at]) && !isClass(nodes[at])) {
    at--;
  }
  return at;
}

function isThere(name, script, line, column) {
  const { starts, tree } = parse(script);
  const place = starts[line - 1] + column - 1;
  const nodes = around(tree, place);
  const at = lastFunction(nodes, nodes.length - 1);
  // Where one begins, the one around it makes it.
  return isNamed(name, script, nodes, at) || (nodes[at].start === place && isNamed(name, script, nodes, at - 1));
}

function isNamed(name, script, nodes, last) {
  const at = lastFunction(nodes, last);
  const own = name.replace(/ \[as [^\]]*\]$/, '').replace(/^.*\.(?=.)/, '').replace(/^(new|async|get|set) /, '');
  if (at === 0) {
    return own === '<anonymous>';
  }
  if (isClass(nodes[at]) && /^<\w+_initializer>$/.test(own)) {
    return true;
  }
  const names = namesAt(nodes, at);
  // So Node calls what its own stacks are to leave out, by the name that it had.
  const hidden = /^__node_internal_(.*)$/.exec(own);
  if (hidden) {
    return names.includes(hidden[1]) || (hidden[1] === '' && !nodes[at].id);
  }
  // What has no name of its own is called by where V8 finds it in the object that it is called on.
  if (names.some((literal) => RENAMED[script]?.includes(literal))) {
    return true;
  }
  return names.includes(own) || names.includes(null) || (names.length === 0 && name.includes('.')) ||
    (!nodes[at].id && (own === '<anonymous>' || INFERRED[script]?.includes(own)));
}

for (const line of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  let there;
  try {
    there = isThere(...JSON.parse(line));
  } catch (error) {
    there = false;
    console.error(String(error));
  }
  if (!there) {
    console.log(line);
  }
}
