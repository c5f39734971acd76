// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flame graph: of the model the part that can be seen is given to d3-flame-graph, which lays it
 * out and draws it, anew for each zoom. Frames are chosen by mouse or by keys.
 */

const CELL_PX = 18;
/* Hue and saturation of each kind; names differ a little in lightness. */
const KINDS = {
	native: { words: "native", hue: 28, saturation: 75 },
	dotnet: { words: ".NET", hue: 214, saturation: 70 },
	v8: { words: "JavaScript", hue: 100, saturation: 45 },
	stub: { words: "stub", hue: 300, saturation: 30 },
	unknown: { words: "unknown", hue: 0, saturation: 0 },
	thread: { words: "thread", hue: 180, saturation: 25 },
	note: { words: "note", hue: 0, saturation: 0 },
};

function kindColour(kind, shade) {
	const { hue, saturation } = KINDS[kind] ?? KINDS.unknown;

	return `hsl(${hue} ${saturation}% calc(var(--light) + ${shade}%))`;
}

/* From -5 to 5, the same for the same name. */
function shadeOf(name) {
	let hash = 0;

	for (let i = 0; i < name.length; i++)
		hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
	return hash % 11 - 5;
}

function differenceColour(difference) {
	const percent = Math.round(100 * Math.sqrt(Math.abs(difference)));
	const side = difference > 0 ? "--more" : "--less";

	return percent ? `color-mix(in srgb, rgb(var(${side})) ${percent}%, var(--level))` : "var(--level)";
}

class Flame {
	constructor(model, element, tip) {
		this.model = model;
		this.element = element;
		this.tip = tip;
		this.zoomed = model.root;
		this.chosen = model.root;
		this.found = null;
		this.byDifference = model.hasBase;
		this.listeners = [];
		this.chart = flamegraph.default()
			.cellHeight(CELL_PX)
			.transitionDuration(0)
			.resetHeightOnZoom(true)
			.tooltip(this.#tooltip())
			.setColorMapper((d) => this.#colour(d.data.node));
		this.chart.width(this.#width());
		this.selection = d3.select(element).datum(this.#drawn());
		this.selection.call(this.chart);
		this.#settle();
		/* Its own zoom knows only what is drawn already. */
		element.addEventListener("click", (event) => this.#click(event), true);
		element.addEventListener("keydown", (event) => this.#key(event));
		element.addEventListener("focus", () => this.choose(this.chosen));
		this.#mark();
	}

	#width() {
		return Math.max(this.element.clientWidth, 100);
	}

	#drawn() {
		return this.model.drawn(this.zoomed, this.#width());
	}

	/* As d3-flame-graph wants one: called once, then shown and hidden. */
	#tooltip() {
		const tooltip = () => {};

		tooltip.show = (event, d) => this.tip.show(event, this.describe(d.data.node));
		tooltip.hide = () => this.tip.hide();
		return tooltip;
	}

	#colour(node) {
		const { name, kind } = this.model.functionAt(node);

		if (this.found?.matched[node.function])
			return "var(--match)";
		return this.byDifference ? differenceColour(this.model.difference(node)) :
			kindColour(kind, shadeOf(name));
	}

	draw() {
		this.chart.width(this.#width()).update(this.#drawn());
		this.#settle();
		this.#mark();
	}

	/* What it would let grow for a quarter of a second, with a timer for each frame, is there at once. */
	#settle() {
		const height = this.chart.height(), width = this.#width(), turned = this.chart.inverted();
		const top = (d) => (turned ? d.depth * CELL_PX : height - (d.depth + 1) * CELL_PX);
		const frames = this.#frames().interrupt();

		frames.attr("transform", (d) => `translate(${d.x0 * width},${top(d)})`);
		frames.select("rect").interrupt().attr("width", (d) => (d.x1 - d.x0) * width);
		frames.select(".d3-flame-graph-label").interrupt().text((d) => d.data.name);
	}

	onChange(listener) {
		this.listeners.push(listener);
	}

	#frames() {
		return this.selection.selectAll("g.frame");
	}

	#mark() {
		this.#frames().classed("chosen", (d) => d.data.node === this.chosen);
		for (const listener of this.listeners)
			listener(this);
	}

	choose(node) {
		this.chosen = node;
		this.#mark();
	}

	zoom(node) {
		if (this.model.value(node) <= 0)
			return;
		this.tip.hide();
		this.zoomed = node;
		this.chosen = node;
		this.draw();
	}

	turn() {
		this.chart.inverted(!this.chart.inverted());
		this.draw();
		return this.chart.inverted();
	}

	search(found) {
		this.found = found;
		this.draw();
	}

	#click(event) {
		const frame = event.target.closest("g.frame");

		if (!frame)
			return;
		event.stopPropagation();
		this.zoom(d3.select(frame).datum().data.node);
	}

	/* The frame that an arrow leads to from that which is chosen, of those that are drawn. */
	#neighbour(key) {
		const here = this.#frames().data().find((d) => d.data.node === this.chosen);
		const inwards = this.chart.inverted() ? "ArrowDown" : "ArrowUp";

		if (!here)
			return this.zoomed;
		if (key === "ArrowLeft" || key === "ArrowRight") {
			const row = here.parent?.children ?? [here];
			const next = row[row.indexOf(here) + (key === "ArrowLeft" ? -1 : 1)];

			return (next ?? here).data.node;
		}
		if (key !== inwards)
			return (here.parent ?? here).data.node;
		return (here.children ?? [here]).reduce((a, b) => (b.value > a.value ? b : a)).data.node;
	}

	#key(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key.startsWith("Arrow"))
			this.choose(this.#neighbour(event.key));
		else if (event.key === "Enter")
			this.zoom(this.chosen);
		else if (event.key === "Backspace")
			this.zoom(this.zoomed.parent ?? this.zoomed);
		else
			return;
		event.preventDefault();
	}

	/* All that is known of a node, in lines. */
	describe(node) {
		const { model } = this, { name, kind, module } = model.functionAt(node);
		const all = model.value(model.root), value = model.value(node);
		const write = (amount) => writeAmount(model, amount);
		const share = (words, part) => (value && part !== value ? `${words} ${percent(part / value)}` : words);
		const parts = model.parts(node);
		const lines = [name, [KINDS[kind]?.words ?? kind, module].filter(Boolean).join(", ")];

		lines.push(`${write(value)}, ${percent(all ? value / all : 0)} of all; ` +
			`${write(model.self(node))} in itself`);
		if (parts.tiers.length)
			lines.push(`tier: ${parts.tiers.map(([tier, part]) => share(tier, part)).join(", ")}`);
		for (const [where, part] of parts.places.slice(0, 4))
			lines.push(share(where, part));
		if (parts.places.length > 4)
			lines.push(`and ${parts.places.length - 4} more lines`);
		if (parts.inlined)
			lines.push(`inlined: ${percent(parts.inlined / value)}`);
		if (model.hasBase)
			lines.push(`against the base: ${signedPercent(model.shareGained(node))} of all`);
		return lines;
	}
}
