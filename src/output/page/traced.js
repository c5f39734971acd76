// SPDX-License-Identifier: GPL-2.0-or-later
/* What was traced, and what is missing from it: the head of the page. And how numbers are written. */

function whole(number) {
	return Math.round(number).toLocaleString("en");
}

function percent(share) {
	return `${(100 * share).toFixed(2)} %`;
}

function signedPercent(share) {
	return (share > 0 ? "+" : "") + percent(share);
}

function duration(ns) {
	const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
	const [size, unit] = units.find(([least]) => ns >= least) ?? [1, "ns"];

	return `${Number((ns / size).toPrecision(3))} ${unit}`;
}

function writeAmount(model, amount) {
	if (model.unit === "time")
		return duration(amount);
	return `${whole(amount)} ${model.timed ? "calls" : "hits"}`;
}

/* [words, value, class] of a run; a value that is a list has a line for each. */
function factsOf(run, dropped) {
	const facts = [];
	const add = (words, value, style) => facts.push([words, [value].flat(), style]);
	const cut = Object.entries(run.stacks ?? {}).filter(([end, count]) => end !== "whole" && count);

	if (run.pid !== undefined)
		add("Target", `${run.pid} (${run.name})`);
	if (run.command)
		add("Command", run.command.join(" "));
	if (run.patterns)
		add("Patterns", run.patterns);
	if (run.began_ms)
		add("Began", new Date(run.began_ms).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC"));
	if (run.duration_ns)
		add("Duration", duration(run.duration_ns));
	if (run.tiers?.length)
		add("Bodies", run.tiers.map(({ tier, bodies, probed, calls }) =>
			`${whole(probed)} of ${whole(bodies)} ${tier} probed, ${whole(calls)} calls`));
	if (run.failed) {
		add("Result", "the run has failed: this is what came until then", "warn");
		return facts;
	}
	add("Hits", whole(run.hits));
	for (const { reason, count } of run.losses)
		add("Lost", `${whole(count)} ${reason}`, "warn");
	if (dropped)
		add("Lost", `${whole(dropped)} calls are in no histogram, for want of room`, "warn");
	if (!run.losses.length && !dropped)
		add("Lost", "nothing", "good");
	if (run.lower_bound.length)
		add("Lower bounds", run.lower_bound, "warn");
	for (const { method, sampled_out, shed } of run.shed)
		add("Not shown", `${method}: ${whole(sampled_out)} sampled out, ${whole(shed)} above the rate`);
	if (cut.length)
		add("Stacks cut", cut.map(([end, count]) => `${whole(count)} ${end}`), "warn");
	if (run.guessed)
		add("Guessed frames", whole(run.guessed), "warn");
	return facts;
}

function showTraced(data) {
	const { run, base, latency } = data;
	const name = run.name === undefined ? "" : `${run.name} (${run.pid})`;
	const runs = base ? [run, base] : [run];

	document.title = name ? `${name} - place-probe` : "place-probe";
	d3.select("#title").text([name, data.program].filter(Boolean).join(" by "));
	runs.forEach((one, i) => {
		const list = d3.select("#traced").append("dl").attr("class", i ? "base" : "now");

		if (base) {
			list.append("dt").text("Run");
			list.append("dd").text(i ? "the base" : "this, against the base");
		}
		for (const [words, values, style] of factsOf(one, i ? 0 : latency.dropped)) {
			list.append("dt").text(words);
			list.append("dd").selectAll("div").data(values).join("div").attr("class", style)
				.text((value) => value);
		}
	});
}
