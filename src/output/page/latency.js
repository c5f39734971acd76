// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long calls took: for each method a histogram of all its calls, and a heat map of when they
 * took how long. Drawn when it is opened.
 */

const HIST = { width: 460, height: 150, left: 44, bottom: 30, top: 6 };
const COLUMNS_MOST = 160, TICKS = 5;

/* The calls of each row of the data, by slice and bucket: Map of slice to Map of bucket to calls. */
function slicesByRow({ rows, cells }) {
	const of = rows.map(() => new Map());

	for (let i = 0; i < cells.length; i += 4) {
		const [row, slice, bucket, calls] = cells.slice(i, i + 4);
		const buckets = of[row].get(slice) ?? new Map();

		buckets.set(bucket, calls);
		of[row].set(slice, buckets);
	}
	return of;
}

function sumOfBuckets(slices) {
	const sum = new Map();

	for (const buckets of slices.values()) {
		for (const [bucket, calls] of buckets)
			sum.set(bucket, (sum.get(bucket) ?? 0) + calls);
	}
	return sum;
}

function picture(into, caption, height) {
	const figure = into.append("figure");
	const svg = figure.append("svg").attr("width", HIST.width).attr("height", height).attr("role", "img")
		.attr("aria-label", caption);

	figure.append("figcaption").text(caption);
	return svg;
}

function bucketWords(bounds, bucket) {
	const high = bounds[bucket + 1];

	return high === null ? `${duration(bounds[bucket])} and longer` :
		`${duration(bounds[bucket])} to ${duration(high)}`;
}

/* Some of the bounds of buckets from @first to @last, at their places on @scale. */
function durationTicks(svg, bounds, first, last, at) {
	const step = Math.max(1, Math.ceil((last - first + 1) / TICKS));

	for (let bucket = first; bucket <= last + 1; bucket += step) {
		if (bounds[bucket] !== null)
			at(svg.append("text").text(duration(bounds[bucket])), bucket);
	}
}

function drawHistogram(into, bounds, sum, first, last, tip) {
	const bottom = HIST.height - HIST.bottom;
	const x = d3.scaleLinear([first, last + 1], [HIST.left, HIST.width - 10]);
	const y = d3.scaleLinear([0, d3.max(sum.values())], [bottom, HIST.top]);
	const svg = picture(into, "calls by duration", HIST.height).attr("class", "histogram");

	svg.selectAll("rect").data([...sum]).join("rect").attr("class", "bar")
		.attr("x", ([bucket]) => x(bucket)).attr("width", Math.max(x(1) - x(0) - 1, 0.5))
		.attr("y", ([, calls]) => y(calls)).attr("height", ([, calls]) => bottom - y(calls))
		.on("mouseover", (event, [bucket, calls]) =>
			tip.show(event, [bucketWords(bounds, bucket), `${whole(calls)} calls`]))
		.on("mouseout", () => tip.hide());
	for (const calls of y.ticks(3).filter(Number.isInteger))
		svg.append("text").attr("x", HIST.left - 4).attr("y", y(calls) + 3).attr("text-anchor", "end")
			.text(whole(calls));
	durationTicks(svg, bounds, first, last, (text, bucket) =>
		text.attr("x", x(bucket)).attr("y", bottom + 14).attr("text-anchor", "middle"));
}

/* Calls of each column of the heat map and bucket, and when a column begins and ends. */
function heatColumns(latency, ends, slices) {
	const count = latency.slice_ns ? d3.max(slices.keys()) + 1 : ends.length;
	const each = Math.ceil(count / COLUMNS_MOST) || 1;
	const end = (slice) => (latency.slice_ns ? (slice + 1) * latency.slice_ns : ends[slice]);
	const calls = new Map();

	for (const [slice, buckets] of slices) {
		for (const [bucket, number] of buckets) {
			const key = `${Math.floor(slice / each)} ${bucket}`;

			calls.set(key, (calls.get(key) ?? 0) + number);
		}
	}
	return {
		cells: [...calls].map(([key, number]) => [...key.split(" ").map(Number), number]),
		columns: Math.ceil(count / each),
		begin: (column) => (column ? end(Math.min(column * each, count) - 1) : 0),
	};
}

function drawHeat(into, latency, ends, slices, first, last, tip) {
	const { bounds } = latency, { cells, columns, begin } = heatColumns(latency, ends, slices);
	const bottom = HIST.height - HIST.bottom;
	const x = d3.scaleLinear([0, columns], [HIST.left, HIST.width - 10]);
	const y = d3.scaleLinear([first, last + 1], [bottom, HIST.top]);
	const most = d3.max(cells, ([, , calls]) => calls);
	const strength = d3.scaleLog([1, Math.max(most, 2)], [0.2, 1]);
	const svg = picture(into, "calls by time and duration", HIST.height).attr("class", "heat");

	svg.selectAll("rect").data(cells).join("rect").attr("class", "cell")
		.attr("x", ([column]) => x(column)).attr("width", x(1) - x(0))
		.attr("y", ([, bucket]) => y(bucket + 1)).attr("height", y(0) - y(1))
		.attr("fill-opacity", ([, , calls]) => strength(calls))
		.on("mouseover", (event, [column, bucket, calls]) => tip.show(event, [
			`${duration(begin(column))} to ${duration(begin(column + 1))} after the start`,
			bucketWords(bounds, bucket), `${whole(calls)} calls`]))
		.on("mouseout", () => tip.hide());
	durationTicks(svg, bounds, first, last, (text, bucket) =>
		text.attr("x", HIST.left - 4).attr("y", y(bucket) + 3).attr("text-anchor", "end"));
	for (const column of [0, columns])
		svg.append("text").attr("x", x(column)).attr("y", bottom + 14)
			.attr("text-anchor", column ? "end" : "start")
			.text(duration(begin(column)));
}

function rowWords(row) {
	const words = [`${whole(row.returned)} calls`];

	if (row.returned)
		words.push(`mean ${duration(row.sum_ns / row.returned)}`,
			`${duration(row.min_ns)} to ${duration(row.max_ns)}`);
	for (const [key, name] of [["unwound", "left by an exception"], ["not_timed", "not timed"],
		["unfinished", "unfinished"]]) {
		if (row[key])
			words.push(`${whole(row[key])} ${name}`);
	}
	if (row.watched && row.watched < 0.9995)
		words.push(`watched ${percent(row.watched)} of the time`);
	if (row.lower_bound.length)
		words.push(`may be more: ${row.lower_bound.join(", ")}`);
	return words.join("; ");
}

function drawRow(into, latency, row, slices, tip) {
	const ends = row.run ? latency.base_ends_ns : latency.ends_ns;
	const sum = sumOfBuckets(slices), used = [...sum.keys()];
	const [first, last] = d3.extent(used);
	const pictures = into.append("div").attr("class", "pictures");

	if (!used.length)
		return;
	drawHistogram(pictures, latency.bounds, sum, first, last, tip);
	if (latency.slice_ns || ends.length > 1)
		drawHeat(pictures, latency, ends, slices, first, last, tip);
}

function showLatency(data, tip) {
	const { latency } = data, slices = slicesByRow(latency);
	const order = latency.rows.map((_, i) => i).sort((a, b) => latency.rows[b].sum_ns - latency.rows[a].sum_ns);

	if (!latency.rows.length)
		return;
	d3.select("#latency").attr("hidden", null);
	d3.select("#latency-note").text(latency.slice_ns ? "Of the calls that --min lets through." :
		latency.ends_ns.length > 1 ? "" : "With -i SECONDS there is a heat map over time.");
	order.forEach((number, place) => {
		const row = latency.rows[number];
		const method = d3.select("#methods").append("details");
		const names = [row.method, row.of, row.run ? "base" : null].filter(Boolean);

		method.append("summary").text(names.join(", "));
		method.append("p").text(rowWords(row));
		method.on("toggle.draw", () => {
			method.on("toggle.draw", null);
			drawRow(method, latency, row, slices[number], tip);
		});
		method.property("open", place === 0);
	});
}
