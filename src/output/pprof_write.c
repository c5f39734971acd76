// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile of pprof.c as it is read: a message of profile.proto, compressed. Messages that follow
 * each other are one, in which lists are continued; so each part is packed by itself, and the whole
 * is never in memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "output/ops.h"
#include "output/pprof.h"
#include "src/output/profile.pb-c.h"

enum {
	GZIP_HEADER = 16, /* added to the window's bits, to zlib */
	CHUNK_BYTES = 1 << 14,
	MEMORY_LEVEL = 8,
	VALUES = 2,
	LABELS = 2,
};

struct writer {
	struct output *output;
	z_stream stream;
	uint8_t chunk[CHUNK_BYTES]; /* of what is compressed */
	uint8_t *packed;	    /* the part that is written */
	size_t packed_capacity;
	bool failed;
};

/* @flush: Z_NO_FLUSH, or Z_FINISH after the last. */
static void compress_bytes(struct writer *writer, uint8_t *bytes, size_t length, int flush)
{
	int result;

	writer->stream.next_in = bytes;
	writer->stream.avail_in = (uInt)length;
	do {
		writer->stream.next_out = writer->chunk;
		writer->stream.avail_out = sizeof(writer->chunk);
		result = deflate(&writer->stream, flush);
		fwrite(writer->chunk, 1, sizeof(writer->chunk) - writer->stream.avail_out,
		       writer->output->to);
	} while (writer->stream.avail_out == 0 && result != Z_STREAM_ERROR);
	writer->failed |= result == Z_STREAM_ERROR;
}

static void put(struct writer *writer, const Pprof__Profile *part)
{
	size_t size = pprof__profile__get_packed_size(part);

	if (size > writer->packed_capacity) {
		free(writer->packed);
		writer->packed = malloc(size);
		writer->packed_capacity = writer->packed ? size : 0;
	}
	if (!writer->packed && size) {
		writer->failed = true;
		return;
	}
	pprof__profile__pack(part, writer->packed);
	compress_bytes(writer, writer->packed, size, Z_NO_FLUSH);
}

/* Write @message as one more of the list @member of the profile. */
#define PUT_ONE(writer, member, message)                       \
	({                                                     \
		Pprof__Profile part_ = PPROF__PROFILE__INIT;   \
		__typeof__(message) *list_[] = { &(message) }; \
		part_.n_##member = 1;                          \
		part_.member = list_;                          \
		put(writer, &part_);                           \
	})

static void put_strings(struct writer *writer, const struct interned *strings)
{
	for (size_t i = 0; i < strings->count; i++) {
		Pprof__Profile part = PPROF__PROFILE__INIT;

		part.n_string_table = 1;
		part.string_table = &strings->items[i].bytes;
		put(writer, &part);
	}
}

static void put_mappings(struct writer *writer, const struct interned *mappings)
{
	for (size_t i = 0; i < mappings->count; i++) {
		Pprof__Mapping mapping = PPROF__MAPPING__INIT;
		uint32_t name;

		memcpy(&name, mappings->items[i].bytes, sizeof(name));
		mapping.id = i + 1;
		mapping.filename = name;
		mapping.has_functions = true;
		mapping.has_filenames = true;
		mapping.has_line_numbers = true;
		mapping.has_inline_frames = true;
		PUT_ONE(writer, mapping, mapping);
	}
}

static void put_functions(struct writer *writer, const struct interned *functions)
{
	for (size_t i = 0; i < functions->count; i++) {
		Pprof__Function function = PPROF__FUNCTION__INIT;
		struct pprof_function from;

		memcpy(&from, functions->items[i].bytes, sizeof(from));
		function.id = i + 1;
		function.name = from.name;
		function.system_name = from.name;
		function.filename = from.file;
		PUT_ONE(writer, function, function);
	}
}

static void put_location(struct writer *writer, uint64_t id, const struct interned_item *item)
{
	Pprof__Location location = PPROF__LOCATION__INIT;
	struct pprof_location head;
	size_t count = (item->length - sizeof(head)) / sizeof(struct pprof_line);
	Pprof__Line *lines = calloc(count, sizeof(*lines)), **list = calloc(count, sizeof(*list));

	memcpy(&head, item->bytes, sizeof(head));
	for (size_t i = 0; lines && list && i < count; i++) {
		struct pprof_line from;

		memcpy(&from, item->bytes + sizeof(head) + i * sizeof(from), sizeof(from));
		pprof__line__init(&lines[i]);
		lines[i].function_id = from.function + UINT64_C(1);
		lines[i].line = from.line;
		lines[i].column = from.column;
		list[i] = &lines[i];
	}
	location.id = id;
	location.mapping_id = head.mapping;
	location.address = head.address;
	location.n_line = count;
	location.line = list;
	if (lines && list)
		PUT_ONE(writer, location, location);
	else
		writer->failed = true;
	free(lines);
	free(list);
}

/* @labels: LABELS of them, or NULL. */
static void put_sample(struct writer *writer, const struct interned_item *stack,
		       const struct pprof_values *values, Pprof__Label **labels)
{
	const struct pprof *pprof = writer->output->state;
	int64_t numbers[VALUES] = { (int64_t)values->count, (int64_t)values->time_ns };
	size_t count = stack->length / sizeof(uint32_t);
	uint64_t *ids = calloc(count, sizeof(*ids));
	Pprof__Sample sample = PPROF__SAMPLE__INIT;

	for (size_t i = 0; ids && i < count; i++) {
		uint32_t number;

		memcpy(&number, stack->bytes + i * sizeof(number), sizeof(number));
		ids[i] = number + UINT64_C(1);
	}
	sample.n_location_id = count;
	sample.location_id = ids;
	sample.n_value = pprof->timed ? VALUES : 1;
	sample.value = numbers;
	sample.n_label = labels ? LABELS : 0;
	sample.label = labels;
	if (ids)
		PUT_ONE(writer, sample, sample);
	else
		writer->failed = true;
	free(ids);
}

static void put_samples(struct writer *writer)
{
	struct pprof *pprof = writer->output->state;
	uint32_t thread = pprof_string(pprof, "thread"), tid = pprof_string(pprof, "tid");
	const struct pprof_values *values = pprof->samples.rows;

	for (size_t i = 0; i < pprof->samples.count; i++) {
		Pprof__Label comm_label = PPROF__LABEL__INIT, tid_label = PPROF__LABEL__INIT;
		Pprof__Label *labels[LABELS] = { &comm_label, &tid_label };
		struct pprof_sample from;

		memcpy(&from, pprof->samples.items[i].bytes, sizeof(from));
		comm_label.key = thread;
		comm_label.str = from.comm;
		tid_label.key = tid;
		tid_label.num = from.tid;
		put_sample(writer, &pprof->stacks.items[from.stack], &values[i], labels);
	}
	if (pprof->others.count)
		put_sample(writer, &pprof->stacks.items[PPROF_OTHER_STACKS], &pprof->others, NULL);
}

static void put_type(struct writer *writer, uint32_t type, uint32_t unit)
{
	Pprof__ValueType value_type = PPROF__VALUE_TYPE__INIT;

	value_type.type = type;
	value_type.unit = unit;
	PUT_ONE(writer, sample_type, value_type);
}

/* All but the lists, and what the values are. */
static void put_head(struct writer *writer)
{
	const struct output *output = writer->output;
	struct pprof *pprof = output->state;
	Pprof__Profile head = PPROF__PROFILE__INIT;
	uint32_t time = pprof_string(pprof, "time");
	int64_t comment = pprof_string(pprof, pprof->comment.length ? text_chars(&pprof->comment) :
								      "the run has failed");

	put_type(writer, pprof_string(pprof, pprof->timed ? "calls" : "hits"),
		 pprof_string(pprof, "count"));
	if (pprof->timed)
		put_type(writer, time, pprof_string(pprof, "nanoseconds"));
	head.default_sample_type = pprof->timed ? time : 0;
	head.n_comment = 1;
	head.comment = &comment;
	head.time_nanos = (int64_t)output->start_ns + output->wall_offset_ns;
	head.duration_nanos = (int64_t)(output->end_ns - output->start_ns);
	put(writer, &head);
}

void pprof_write(struct output *output)
{
	struct writer writer = { .output = output };
	struct pprof *pprof = output->state;

	if (deflateInit2(&writer.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_HEADER,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		output->problem = output->problem ? output->problem : -ENOMEM;
		return;
	}
	/* What the document says itself has room. */
	pprof->room = SIZE_MAX;
	put_head(&writer);
	put_samples(&writer);
	put_mappings(&writer, &pprof->mappings);
	for (size_t i = 0; i < pprof->locations.count; i++)
		put_location(&writer, i + 1, &pprof->locations.items[i]);
	put_functions(&writer, &pprof->functions);
	put_strings(&writer, &pprof->strings);
	compress_bytes(&writer, NULL, 0, Z_FINISH);
	deflateEnd(&writer.stream);
	free(writer.packed);
	if (writer.failed && !output->problem)
		output->problem = -ENOMEM;
}
