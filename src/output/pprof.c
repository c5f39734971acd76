// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --format=pprof: equal stacks of a thread, counted, with the time that calls took, as a profile
 * that pprof opens. Hits come in, and what is interned is known by its number; the ids of the
 * document, which is written at the end, are that + 1, but for strings, of which number 0 is empty.
 */
#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "output/interned.h"
#include "output/ops.h"
#include "src/output/profile.pb-c.h"

enum {
	PPROF_OTHER_STACKS = 0, /* the number of the stack that stands for those without room */
	GZIP_HEADER = 16,	/* added to the window's bits, to zlib */
	CHUNK_BYTES = 1 << 14,
	MEMORY_LEVEL = 8,
	VALUES = 2,
	LABELS = 2,
};

/* The interned bytes of each, but for strings, and for mappings, which are the number of one. */
struct pprof_function {
	uint32_t name;
	uint32_t file;
};

struct pprof_location {
	uint64_t address;
	uint32_t mapping; /* an id; 0: none */
	uint32_t line_count;
	struct pprof_line {
		uint32_t function;
		uint32_t line;
		uint32_t column;
	} lines[];
};

/* A stack is the numbers of its locations. */
struct pprof_sample {
	uint32_t stack;
	uint32_t comm;
	pid_t tid;
};

struct pprof_values {
	uint64_t count;
	uint64_t time_ns;
};

struct pprof {
	struct interned strings;
	struct interned mappings;
	struct interned functions;
	struct interned locations;
	struct interned stacks;
	struct interned samples;    /* with their values */
	struct pprof_values others; /* of those that there was no room for */
	size_t room;
	struct text string; /* while they are made: */
	struct text location;
	struct text stack;
	struct text comment; /* what is said of the run */
	bool any;	     /* there is something to write */
	bool timed;	     /* it is of calls */
};

/* The number of a string; INTERNED_NONE if there is no room. */
static uint32_t number_of_string(struct pprof *pprof, const char *s)
{
	text_clear(&pprof->string);
	output_add_utf8(&pprof->string, s);
	return interned_add_text(&pprof->strings, &pprof->string, &pprof->room);
}

/* Locations ----------------------------------------------------------------------------------- */

static uint32_t function_of(struct pprof *pprof, const struct frame *frame)
{
	struct pprof_function function = { 0 };
	_cleanup_(text_deinit) struct text name = { 0 };

	output_frame_name(&name, frame);
	text_add(&name, frame->guessed ? " [guessed]" : "");
	function.name = text_ok(&name) ? number_of_string(pprof, text_chars(&name)) : INTERNED_NONE;
	function.file = frame->source ? number_of_string(pprof, frame->source) : 0;
	if (function.name == INTERNED_NONE || function.file == INTERNED_NONE)
		return INTERNED_NONE;
	return interned_add(&pprof->functions, &function, sizeof(function), &pprof->room);
}

/* The id of @module; 0: it has none. False if there is no room. */
static bool mapping_of(struct pprof *pprof, const char *module, uint32_t *id)
{
	uint32_t number;

	*id = 0;
	if (!module)
		return true;
	number = number_of_string(pprof, module);
	if (number != INTERNED_NONE)
		number = interned_add(&pprof->mappings, &number, sizeof(number), &pprof->room);
	*id = number + 1;
	return number != INTERNED_NONE;
}

static bool add_line(struct pprof *pprof, const struct frame *frame)
{
	const struct pprof_line line = {
		.function = function_of(pprof, frame),
		.line = frame->line,
		.column = frame->column,
	};

	text_add_bytes(&pprof->location, (const char *)&line, sizeof(line));
	return line.function != INTERNED_NONE;
}

/* Add to pprof->stack the location of @count frames, of which the last has inlined the others. */
static bool add_location(struct pprof *pprof, const struct frame *frames, size_t count)
{
	const struct frame *last = &frames[count - 1];
	struct pprof_location location = { .address = last->address.value,
					   .line_count = (uint32_t)count };
	uint32_t number;

	if (!mapping_of(pprof, last->module, &location.mapping))
		return false;
	text_clear(&pprof->location);
	text_add_bytes(&pprof->location, (const char *)&location, sizeof(location));
	for (size_t i = 0; i < count; i++) {
		if (!add_line(pprof, &frames[i]))
			return false;
	}
	number = interned_add_text(&pprof->locations, &pprof->location, &pprof->room);
	text_add_bytes(&pprof->stack, (const char *)&number, sizeof(number));
	return number != INTERNED_NONE;
}

/* What is said of a stack, as a frame of its own at its root. */
static bool add_note(struct pprof *pprof, const char *note)
{
	_cleanup_(text_deinit) struct text name = { 0 };

	text_printf(&name, "[%s]", note);
	return add_location(pprof, &(struct frame){ .name = text_chars(&name) }, 1);
}

/* Stacks -------------------------------------------------------------------------------------- */

static bool add_frames(struct pprof *pprof, const struct hit *hit)
{
	const struct frame method = { .name = hit->method };
	const struct stack *stack = hit->stack;
	size_t count = stack ? stack->count : 0, from = 0;

	if (count == 0 && !add_location(pprof, &method, 1))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (stack->frames[i].inlined && i + 1 < count)
			continue;
		if (!add_location(pprof, &stack->frames[from], i + 1 - from))
			return false;
		from = i + 1;
	}
	return !stack || stack->end == STACK_WHOLE || add_note(pprof, stack_end_name(stack->end));
}

static uint32_t make_stack(void *state, const struct hit *hit)
{
	struct pprof *pprof = state;
	uint32_t number = INTERNED_NONE;

	text_clear(&pprof->stack);
	if (add_frames(pprof, hit))
		number = interned_add_text(&pprof->stacks, &pprof->stack, &pprof->room);
	return number == INTERNED_NONE ? PPROF_OTHER_STACKS : number;
}

/* The values of what is alike in all but its time; NULL if there is no room. */
static struct pprof_values *values_of(struct pprof *pprof, const struct hit *hit)
{
	const struct pprof_sample sample = {
		.stack = output_stack_number(hit, pprof, make_stack),
		.comm = number_of_string(pprof, hit->comm),
		.tid = hit->tid,
	};

	if (sample.stack == PPROF_OTHER_STACKS || sample.comm == INTERNED_NONE)
		return NULL;
	return interned_row(&pprof->samples, &sample, sizeof(sample), sizeof(struct pprof_values),
			    &pprof->room);
}

static void add_hit(struct output *output, const struct hit *hit)
{
	struct pprof *pprof = output->state;
	struct pprof_values *values = values_of(pprof, hit);

	pprof->any = true;
	pprof->timed |= hit->duration_ns > 0;
	if (!values) {
		output->left_out++;
		values = &pprof->others;
	}
	values->count++;
	values->time_ns += hit->duration_ns;
}

static void add_summary(struct output *output, const struct output_summary *summary)
{
	struct pprof *pprof = output->state;

	pprof->any = true;
	text_printf(&pprof->comment, "%" PRIu64 " %s; lost: ", summary->hits,
		    pprof->timed ? "calls" : "hits");
	output_add_losses(&pprof->comment, summary->losses);
}

/* What is there before any hit: the empty string, and the stack of those without room. */
static bool begin(struct output *output)
{
	struct pprof *pprof = output->state;
	bool good;

	pprof->room = SIZE_MAX;
	good = number_of_string(pprof, "") == 0 && add_note(pprof, "other stacks") &&
	       interned_add_text(&pprof->stacks, &pprof->stack, &pprof->room) == PPROF_OTHER_STACKS;
	pprof->room = output->memory_bytes;
	return good;
}

/*
 * The document: a message of profile.proto, compressed. Messages that follow each other are one, in
 * which lists are continued; so each part is packed by itself, and the whole is never in memory.
 */

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

	if (!vector_reserve(&writer->packed, &writer->packed_capacity, size)) {
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
	_cleanup_free_ Pprof__Line *lines = calloc(count, sizeof(*lines));
	_cleanup_free_ Pprof__Line **list = calloc(count, sizeof(*list));

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
}

/* @labels: LABELS of them, or NULL. */
static void put_sample(struct writer *writer, const struct interned_item *stack,
		       const struct pprof_values *values, Pprof__Label **labels)
{
	const struct pprof *pprof = writer->output->state;
	int64_t numbers[VALUES] = { (int64_t)values->count, (int64_t)values->time_ns };
	size_t count = stack->length / sizeof(uint32_t);
	_cleanup_free_ uint64_t *ids = calloc(count, sizeof(*ids));
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
}

static void put_samples(struct writer *writer)
{
	struct pprof *pprof = writer->output->state;
	uint32_t thread = number_of_string(pprof, "thread"), tid = number_of_string(pprof, "tid");
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
	uint32_t time = number_of_string(pprof, "time");
	int64_t comment = number_of_string(
		pprof, pprof->comment.length ? text_chars(&pprof->comment) : "the run has failed");

	put_type(writer, number_of_string(pprof, pprof->timed ? "calls" : "hits"),
		 number_of_string(pprof, "count"));
	if (pprof->timed)
		put_type(writer, time, number_of_string(pprof, "nanoseconds"));
	head.default_sample_type = pprof->timed ? time : 0;
	head.n_comment = 1;
	head.comment = &comment;
	head.time_nanos = (int64_t)output->start_ns + output->wall_offset_ns;
	head.duration_nanos = (int64_t)(output->end_ns - output->start_ns);
	put(writer, &head);
}

static void write_profile(struct output *output)
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

static void end(struct output *output)
{
	struct pprof *pprof = output->state;

	if (pprof->any)
		write_profile(output);
	interned_deinit(&pprof->strings);
	interned_deinit(&pprof->mappings);
	interned_deinit(&pprof->functions);
	interned_deinit(&pprof->locations);
	interned_deinit(&pprof->stacks);
	interned_deinit(&pprof->samples);
	text_deinit(&pprof->string);
	text_deinit(&pprof->location);
	text_deinit(&pprof->stack);
	text_deinit(&pprof->comment);
}

const struct output_ops pprof_output = {
	.state_bytes = sizeof(struct pprof),
	.begin = begin,
	.hit = add_hit,
	.summary = add_summary,
	.end = end,
};
