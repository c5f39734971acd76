/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What writer.c and mappings.c share of a record that is being written. */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include "record/blocks.h"
#include "record/record.h"
#include "record/tables.h"

struct output_kind;

enum { RECORD_MAPPED_BYTES = 16 << 20 /* for knowing which mappings are there */ };

struct record {
	const char *path;
	struct output output;
	const struct output *of; /* the run's */
	struct block_writer blocks;
	struct tables tables;
	struct text block; /* not written yet */
	struct text body;  /* of the record that is put together */
	uint64_t flushed_ns;
	uint64_t last_ns; /* of the last hit */
	int problem;	  /* why nothing is written any more; 0 */
	bool in_totals;
	struct output_kind **kinds; /* by number; NULL where there is none */
	size_t kind_count;
	size_t kind_capacity;
	uint32_t *free_kinds;
	size_t free_kind_count;
	size_t free_kind_capacity;
	struct interned mapped; /* what was told of mappings */
	size_t mapped_room;
	bool has_target;
	uint64_t target_version; /* as it was told last */
};

/* Begin a record: its body, empty. Then put it into the block. */
struct text *record_begin(struct record *record);
void record_put(struct record *record, enum record_tag tag);

/* As struct output_ops has it. */
void record_write_run(struct output *output, const struct output_run *run);

#endif
