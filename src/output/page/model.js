// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks as the page draws them. They come as rows, of which each has a frame with its tier and
 * line, callers before what they call: what is within a row are those up to its end. Rows of one
 * function in one caller are a node, which is made when somebody first looks: most never are. What a
 * node has of each tier and line is still to be had of its rows.
 */

const FIELD = { kind: 0, name: 1, module: 2, source: 3, line: 4, column: 5, tier: 6, bits: 7 };
const BIT = { inlined: 1, guessed: 2, toldByLine: 4 };
const NOW = 0, BASE = 1;
/* What is narrower is not drawn; nor, of very many frames, are more than so many of the widest. */
const MIN_WIDTH_PX = 1, MOST_DRAWN = 4000;

function displayName(frame) {
	let name = frame[FIELD.name];

	if (frame[FIELD.kind] === "note")
		name = `[${name}]`;
	else if (name === null)
		name = `[${frame[FIELD.module] ?? frame[FIELD.kind]}]`;
	return frame[FIELD.bits] & BIT.guessed ? `${name} [guessed]` : name;
}

function place(frame) {
	if (!frame[FIELD.source])
		return null;
	return frame[FIELD.line] ? `${frame[FIELD.source]}:${frame[FIELD.line]}` : frame[FIELD.source];
}

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const letters = atob(base64), bytes = new Uint8Array(letters.length);

	for (let i = 0; i < bytes.length; i++)
		bytes[i] = letters.charCodeAt(i);
	return bytes;
}

/* What flame_tree.c has made of numbers: bytes by zlib, as Base64. */
async function unpack(base64) {
	const plain = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));

	return new Uint8Array(await new Response(plain).arrayBuffer());
}

/* Seven bits a byte, the lowest first. */
class Numbers {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	next() {
		let number = 0, weight = 1, byte;

		do {
			byte = this.bytes[this.at++];
			number += (byte & 127) * weight;
			weight *= 128;
		} while (byte & 128);
		return number;
	}
}

/* A function where it is called from: rows of the data. */
class Node {
	constructor(fn, parent) {
		this.function = fn;
		this.parent = parent;
		this.rows = [];
		this.children = null;
		this.values = null; /* that .sum is of */
		this.sum = 0;
	}
}

class Model {
	constructor(data, rows) {
		this.frames = data.frames;
		this.timed = data.timed;
		this.#nameFunctions();
		this.#readRows(data.nodes, new Numbers(rows));
		this.root = new Node(this.functionOf[this.frameOf[0]], null);
		this.root.rows.push(0);
		this.hasBase = Boolean(this.sums.count[BASE]);
		this.hasStacks = Boolean(this.sums.count[NOW] || this.hasBase);
		if (this.hasStacks)
			this.choose(this.sums.time[NOW] ? "time" : "count", this.sums.count[NOW] ? NOW : BASE);
	}

	#nameFunctions() {
		const known = new Map();

		this.functions = [];
		this.functionOf = this.frames.map((frame) => {
			const told = frame[FIELD.bits] & BIT.toldByLine;
			const key = JSON.stringify([frame[FIELD.kind], frame[FIELD.name], frame[FIELD.module],
				frame[FIELD.bits] & ~BIT.inlined, told ? place(frame) : null]);
			let number = known.get(key);

			if (number === undefined) {
				number = this.functions.length;
				known.set(key, number);
				this.functions.push({
					name: displayName(frame),
					kind: frame[FIELD.kind],
					module: frame[FIELD.module],
				});
			}
			return number;
		});
	}

	/* this.sums[unit][run][row]: what has come in all rows before it; null: there is none. */
	#readRows({ count, columns }, numbers) {
		const open = [];
		const made = columns.map(() => new Float64Array(count + 1));
		const of = (name) => made[columns.indexOf(name)] ?? null;

		this.frameOf = new Int32Array(count);
		this.end = new Int32Array(count);
		for (let row = 0; row < count; row++) {
			for (let up = numbers.next(); up > 0; up--)
				this.end[open.pop()] = row;
			open.push(row);
			this.frameOf[row] = numbers.next();
			for (const column of made)
				column[row + 1] = column[row] + numbers.next();
		}
		for (const row of open)
			this.end[row] = count;
		this.sums = { count: [of("count"), of("base_count")], time: [of("time"), of("base_time")] };
	}

	/* What widths are: "count" or "time", of this run or of the base. */
	choose(unit, run) {
		this.unit = unit;
		this.run = run;
		this.values = this.sums[unit][run];
		this.greatest = undefined;
	}

	#rowValue(row, values) {
		return values[this.end[row]] - values[row];
	}

	#sum(node, values) {
		return node.rows.reduce((sum, row) => sum + this.#rowValue(row, values), 0);
	}

	value(node) {
		if (node.values !== this.values) {
			node.values = this.values;
			node.sum = this.#sum(node, this.values);
		}
		return node.sum;
	}

	self(node) {
		return node.rows.reduce((sum, row) => sum + this.values[row + 1] - this.values[row], 0);
	}

	functionAt(node) {
		return this.functions[node.function];
	}

	childrenOf(node) {
		if (node.children)
			return node.children;
		const known = new Map();

		for (const row of node.rows) {
			for (let child = row + 1; child < this.end[row]; child = this.end[child]) {
				const fn = this.functionOf[this.frameOf[child]];
				let one = known.get(fn);

				if (!one)
					known.set(fn, one = new Node(fn, node));
				one.rows.push(child);
			}
		}
		node.children = [...known.values()];
		return node.children;
	}

	/* Of all that a run had, how much is in a node. */
	#share(node, run) {
		const values = this.sums[this.unit][run];

		return values?.at(-1) ? this.#sum(node, values) / values.at(-1) : 0;
	}

	/* How much greater its share is than in the base: from -1 to 1. */
	shareGained(node) {
		return this.#share(node, NOW) - this.#share(node, BASE);
	}

	/* The same against the greatest there is. */
	difference(node) {
		this.greatest ??= this.#greatestBelow(this.root);
		return this.greatest ? Math.max(-1, Math.min(1, this.shareGained(node) / this.greatest)) : 0;
	}

	#greatestBelow(node) {
		let greatest = Math.abs(this.shareGained(node));

		/* In what has less than this there is no greater one that anybody would see. */
		for (const child of this.childrenOf(node)) {
			if (Math.max(this.#share(child, NOW), this.#share(child, BASE)) > Math.max(greatest, 0.001))
				greatest = Math.max(greatest, this.#greatestBelow(child));
		}
		return greatest;
	}

	/* How much of a node is of each tier, and of each line: [words, value] each, the most first. */
	parts(node) {
		const tiers = new Map(), places = new Map();
		const add = (map, key, value) => key && value && map.set(key, (map.get(key) ?? 0) + value);
		const sorted = (map) => [...map].sort((a, b) => b[1] - a[1]);
		let inlined = 0;

		for (const row of node.rows) {
			const frame = this.frames[this.frameOf[row]], value = this.#rowValue(row, this.values);

			add(tiers, frame[FIELD.tier], value);
			add(places, place(frame), value);
			if (frame[FIELD.bits] & BIT.inlined)
				inlined += value;
		}
		return { tiers: sorted(tiers), places: sorted(places), inlined };
	}

	/* The nodes from @zoomed in that are wide enough, if it is so wide, callers first. */
	#wide(zoomed, widthPx) {
		const least = this.value(zoomed) * MIN_WIDTH_PX / widthPx;
		let nodes = [zoomed];

		for (let i = 0; i < nodes.length; i++) {
			for (const child of this.childrenOf(nodes[i])) {
				if (this.value(child) >= least && this.value(child) > 0)
					nodes.push(child);
			}
		}
		if (nodes.length > MOST_DRAWN) {
			const values = Float64Array.from(nodes, (node) => this.value(node)).sort();
			const bound = values[values.length - MOST_DRAWN];

			nodes = nodes.filter((node) => node === zoomed || this.value(node) > bound);
		}
		return nodes;
	}

	/* The tree that is drawn when @zoomed has the whole width, beneath those that have called it. */
	drawn(zoomed, widthPx) {
		const made = new Map();
		const make = (node, fade) => {
			const one = { node, name: this.functionAt(node).name, value: this.value(node), fade };

			made.set(node, one);
			return one;
		};
		let top;

		for (const node of this.#wide(zoomed, widthPx)) {
			const one = make(node, false), above = made.get(node.parent);

			if (node === zoomed)
				top = one;
			else
				(above.children ??= []).push(one);
		}
		for (const one of made.values())
			one.children?.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
		for (let node = zoomed.parent; node; node = node.parent)
			top = { ...make(node, true), value: top.value, children: [top] };
		return top;
	}

	/* Which functions match, and how much is in them or in what they call. */
	search(matches) {
		const matched = Uint8Array.from(this.functions, ({ name }) => matches(name));
		let sum = 0;

		for (let row = 0; row < this.end.length;) {
			const found = matched[this.functionOf[this.frameOf[row]]];

			if (found)
				sum += this.#rowValue(row, this.values);
			row = found ? this.end[row] : row + 1;
		}
		return { matched, sum, functions: this.functions.filter((fn, i) => matched[i] && fn.kind !== "note").length };
	}
}
