// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks as the page draws them. Data comes as columns, a row a node, parents first, and each
 * frame with its tier and line; here frames of one function are one, and so are nodes of one function
 * in one caller. What a node has of each tier and line is still to be had of the rows it is made of.
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

class Model {
	constructor(data) {
		this.frames = data.frames;
		this.timed = data.timed;
		this.#nameFunctions();
		this.#joinNodes(data.nodes);
		this.#sum(data.nodes);
		this.#linkChildren();
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

	/* this.nodeOf: of each row; this.rowOf, this.nextRow: of each node. */
	#joinNodes({ parent, frame }) {
		const known = new Map(), functions = this.functions.length;
		const rows = parent.length;

		this.parent = [];
		this.function = [];
		this.nodeOf = new Int32Array(rows);
		this.rowOf = [];
		this.nextRow = new Int32Array(rows).fill(-1);
		for (let row = 0; row < rows; row++) {
			const above = row ? this.nodeOf[parent[row]] : -1;
			const key = above * functions + this.functionOf[frame[row]];
			let node = row ? known.get(key) : undefined;

			if (node === undefined) {
				node = this.parent.length;
				known.set(key, node);
				this.parent.push(above);
				this.function.push(this.functionOf[frame[row]]);
				this.rowOf.push(-1);
			}
			this.nodeOf[row] = node;
			this.nextRow[row] = this.rowOf[node];
			this.rowOf[node] = row;
		}
		this.frameOf = frame;
		this.parentRow = parent;
	}

	/* What ends in a row or beyond it, of a column of the data; null: there is no such column. */
	#total(column) {
		if (!column)
			return null;
		const rows = Float64Array.from(column), nodes = new Float64Array(this.parent.length);
		const self = new Float64Array(this.parent.length);

		for (let row = 0; row < rows.length; row++)
			self[this.nodeOf[row]] += rows[row];
		for (let row = rows.length - 1; row > 0; row--)
			rows[this.parentRow[row]] += rows[row];
		for (let row = 0; row < rows.length; row++)
			nodes[this.nodeOf[row]] += rows[row];
		return { rows, nodes, self };
	}

	#sum(nodes) {
		this.totals = {
			count: [this.#total(nodes.count), this.#total(nodes.base_count)],
			time: [this.#total(nodes.time), this.#total(nodes.base_time)],
		};
		this.hasBase = Boolean(this.totals.count[BASE]);
		this.hasStacks = Boolean(this.totals.count[NOW] || this.hasBase);
		this.choose(this.totals.time[NOW] ? "time" : "count", this.totals.count[NOW] ? NOW : BASE);
	}

	#linkChildren() {
		const nodes = this.parent.length;

		this.firstChild = new Int32Array(nodes).fill(-1);
		this.sibling = new Int32Array(nodes).fill(-1);
		for (let node = nodes - 1; node > 0; node--) {
			this.sibling[node] = this.firstChild[this.parent[node]];
			this.firstChild[this.parent[node]] = node;
		}
	}

	/* What widths are: "count" or "time", of this run or of the base. */
	choose(unit, run) {
		this.unit = unit;
		this.run = run;
		this.values = this.totals[unit][run];
		this.greatest = undefined;
	}

	value(node) {
		return this.values.nodes[node];
	}

	self(node) {
		return this.values.self[node];
	}

	functionAt(node) {
		return this.functions[this.function[node]];
	}

	*childrenOf(node) {
		for (let child = this.firstChild[node]; child >= 0; child = this.sibling[child])
			yield child;
	}

	/* Of all that this run had, how much more than of the base's is in a node: from -1 to 1. */
	shareGained(node) {
		const [now, base] = this.totals[this.unit];
		const share = (total) => total && total.nodes[0] ? total.nodes[node] / total.nodes[0] : 0;

		return share(now) - share(base);
	}

	/* The same against the greatest there is. */
	difference(node) {
		if (this.greatest === undefined) {
			this.greatest = 0;
			for (let i = 1; i < this.parent.length; i++)
				this.greatest = Math.max(this.greatest, Math.abs(this.shareGained(i)));
		}
		return this.greatest ? this.shareGained(node) / this.greatest : 0;
	}

	/* How much of a node is of each tier, and of each line: [words, value] each, the most first. */
	parts(node) {
		const tiers = new Map(), places = new Map();
		const add = (map, key, value) => key && value && map.set(key, (map.get(key) ?? 0) + value);
		const sorted = (map) => [...map].sort((a, b) => b[1] - a[1]);
		let inlined = 0;

		for (let row = this.rowOf[node]; row >= 0; row = this.nextRow[row]) {
			const frame = this.frames[this.frameOf[row]], value = this.values.rows[row];

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
			const one = make(node, false), above = made.get(this.parent[node]);

			if (node === zoomed)
				top = one;
			else
				(above.children ??= []).push(one);
		}
		for (const one of made.values())
			one.children?.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.node - b.node));
		for (let node = this.parent[zoomed]; node >= 0; node = this.parent[node])
			top = { ...make(node, true), value: top.value, children: [top] };
		return top;
	}

	/* Which functions match, and how much is in them or in what they call. */
	search(matches) {
		const matched = Uint8Array.from(this.functions, ({ name, module }) => matches(name, module));
		const within = new Uint8Array(this.parent.length);
		let sum = 0;

		for (let node = 0; node < within.length; node++) {
			const above = node ? within[this.parent[node]] : 0;

			within[node] = above || matched[this.function[node]];
			if (within[node] && !above)
				sum += this.value(node);
		}
		return { matched, sum, functions: matched.reduce((a, b) => a + b, 0) };
	}
}
