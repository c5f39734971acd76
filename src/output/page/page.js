// SPDX-License-Identifier: GPL-2.0-or-later
/* The page as a whole: it reads the data that is behind this script, and ties controls to pictures. */

class Tip {
	constructor(element) {
		this.element = element;
	}

	show(event, lines) {
		const { element } = this;

		element.textContent = lines.join("\n");
		element.hidden = false;
		const { width, height } = element.getBoundingClientRect();
		const fit = (at, size, most) => Math.max(4, at + 14 + size > most ? at - size - 8 : at + 14);

		element.style.left = `${fit(event.clientX, width, window.innerWidth)}px`;
		element.style.top = `${fit(event.clientY, height, window.innerHeight)}px`;
	}

	hide() {
		this.element.hidden = true;
	}
}

function byId(id) {
	return document.getElementById(id);
}

/* A function that tells which names match; null: there is nothing to look for. */
function matcher(text) {
	const regex = /^\/(.+)\/$/.exec(text);
	const part = text.toLowerCase();

	if (!text)
		return null;
	if (regex) {
		const wanted = new RegExp(regex[1], "i");

		return (name) => wanted.test(name);
	}
	return (name) => name.toLowerCase().includes(part);
}

function search(model, flame) {
	const text = byId("search").value.trim(), output = byId("found");
	let matches;

	try {
		matches = matcher(text);
	} catch {
		output.textContent = "no regular expression";
		return;
	}
	const found = matches && model.search(matches);

	output.textContent = found ? `${percent(model.value(model.root) ? found.sum / model.value(model.root) : 0)}: ` +
		`${writeAmount(model, found.sum)} in ${whole(found.functions)} function${found.functions === 1 ? "" : "s"}` : "";
	flame.search(found);
}

function fillSelect(select, label, choices) {
	for (const [value, words] of choices) {
		const option = document.createElement("option");

		option.value = value;
		option.textContent = words;
		select.append(option);
	}
	label.hidden = choices.length < 2;
}

function offerWidths(model, flame) {
	const select = byId("width"), names = { count: model.timed ? "calls" : "hits", time: "time" };
	const choices = [];

	for (const unit of ["time", "count"]) {
		for (const run of [NOW, BASE]) {
			if (model.sums[unit][run])
				choices.push([`${unit} ${run}`, names[unit] + (run ? " of the base" : "")]);
		}
	}
	fillSelect(select, byId("width-label"), choices);
	select.value = `${model.unit} ${model.run}`;
	select.addEventListener("change", () => {
		const [unit, run] = select.value.split(" ");

		model.choose(unit, Number(run));
		if (model.value(flame.zoomed) <= 0)
			flame.zoomed = model.root;
		search(model, flame);
	});
}

function showLegend(model, flame) {
	const kinds = [...new Set(model.functions.map(({ kind }) => kind))];
	const legend = flame.byDifference ?
		[["more than in the base", differenceColour(1)], ["as much", differenceColour(0)],
			["less", differenceColour(-1)]] :
		Object.keys(KINDS).filter((kind) => kinds.includes(kind) && kind !== "note")
			.map((kind) => [KINDS[kind].words, kindColour(kind, 0)]);

	d3.select("#legend").selectAll("li").data(legend).join("li").text(([words]) => words)
		.style("--colour", ([, colour]) => colour);
}

function offerColours(model, flame) {
	const select = byId("colours");

	fillSelect(select, byId("colours-label"), model.hasBase ?
		[["difference", "difference"], ["kind", "kind"]] : [["kind", "kind"]]);
	select.addEventListener("change", () => {
		flame.byDifference = select.value === "difference";
		showLegend(model, flame);
		flame.draw();
	});
	showLegend(model, flame);
}

function turn(flame) {
	byId("icicle").setAttribute("aria-pressed", String(flame.turn()));
}

/* Keys that mean the same wherever the focus is, but where one writes. */
function onKey(event, flame) {
	const writes = event.target.closest("input, select");

	if (event.ctrlKey || event.altKey || event.metaKey)
		return;
	if (event.key === "Escape" && writes) {
		byId("chart").focus();
	} else if (writes) {
		return;
	} else if (event.key === "/") {
		byId("search").focus();
		byId("search").select();
	} else if (event.key === "i") {
		turn(flame);
	} else if (event.key === "Escape" || event.key === "0") {
		flame.zoom(flame.model.root);
	} else {
		return;
	}
	event.preventDefault();
}

async function showStacks(data, tip) {
	const model = new Model(data, await unpack(data.nodes.packed));

	if (!model.hasStacks)
		return;
	byId("stacks").hidden = false;
	const flame = new Flame(model, byId("chart"), tip);

	flame.onChange(() => {
		byId("details").textContent = flame.describe(flame.chosen).join("; ");
	});
	offerWidths(model, flame);
	offerColours(model, flame);
	byId("search").addEventListener("input", () => search(model, flame));
	byId("reset").addEventListener("click", () => flame.zoom(model.root));
	byId("icicle").addEventListener("click", () => turn(flame));
	document.addEventListener("keydown", (event) => onKey(event, flame));
	window.addEventListener("resize", () => flame.draw());
}

document.addEventListener("DOMContentLoaded", async () => {
	const data = JSON.parse(byId("data").textContent), tip = new Tip(byId("tip"));

	showTraced(data);
	showLatency(data, tip);
	await showStacks(data, tip);
	document.documentElement.dataset.drawn = "yes";
});
