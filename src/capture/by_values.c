// SPDX-License-Identifier: GPL-2.0-or-later
/* --by=EXPR: the table of values that the programs keep, bpf/by.h. */
#include <bpf/bpf.h>

#include "bpf/by.h"
#include "capture/capture_internal.h"

/* A number has eight bytes; of strings as much as is asked for. */
static uint32_t words_of(const struct options *options)
{
	uint32_t bytes = options->string_bytes ? options->string_bytes : BY_STRING_BYTES;

	return bytes < 8 ? 1 : (bytes + 7) / 8;
}

int capture_size_by_values(const struct capture *capture)
{
	const struct place_probe_bpf *bpf = capture->bpf;
	const struct programs_map maps[] = {
		{ bpf->maps.by_values, BY_VALUES },
		{ bpf->maps.latency_totals, capture_latency_totals(capture) },
	};
	uint32_t words = words_of(capture->options);
	int result = programs_size_maps(maps, sizeof(maps) / sizeof(maps[0]));

	bpf->rodata->by_when = capture->options->by_of_end ? BY_END : BY_ENTRY;
	bpf->rodata->by_words = words;
	return result ? result :
			bpf_map__set_key_size(bpf->maps.by_values, BY_KEY_HEADER + 8 * words);
}

void capture_each_by_value(const struct capture *capture,
			   void (*each)(void *ctx, uint64_t number, const struct by_key *key),
			   void *ctx)
{
	int fd = bpf_map__fd(capture->bpf->maps.by_values);
	struct by_key key = { 0 };
	struct no_preempt before = { 0 };
	uint64_t number;

	/* None is ever deleted, so none comes twice; but a bound costs nothing. */
	for (size_t i = 0; i < BY_VALUES; i++) {
		capture_no_preempt(capture, &before, i);
		if (bpf_map_get_next_key(fd, i ? &key : NULL, &key))
			break;
		if (bpf_map_lookup_elem(fd, &key, &number) == 0)
			each(ctx, number, &key);
	}
	no_preempt_end(&before);
}
