// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hits as JSON, for json.c: there can be hundreds of thousands in a second, so they are written
 * without objects in between. docs/json.md has the members.
 */
#include <string.h>

#include "output/ops.h"

enum {
	DELETE = 0x7f,
	C1_LEAD = 0xc2, /* in UTF-8, of U+0080 to U+00BF */
	C1_END = 0xa0,
};

static void add_escaped(struct text *to, unsigned char c)
{
	static const char letters[] = "\b\f\n\r\t\"\\", escapes[] = "bfnrt\"\\";
	const char *found = c ? strchr(letters, c) : NULL;

	if (found)
		text_add_bytes(to, (char[]){ '\\', escapes[found - letters] }, 2);
	else
		text_printf(to, "\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c != '"' && c != '\\' && c != DELETE && c != C1_LEAD;
}

/* U+0080 to U+009F, which terminals obey as they do an escape. */
static bool is_c1(const char *s)
{
	return (unsigned char)s[0] == C1_LEAD && (unsigned char)s[1] < C1_END;
}

/* Those of the first @length bytes of @s that stand for themselves go together. */
static void add_utf8(struct text *to, const char *s, size_t length)
{
	size_t from = 0;

	for (size_t i = 0; i < length; i++) {
		bool c1;

		if (is_plain((unsigned char)s[i]))
			continue;
		c1 = is_c1(s + i);
		if ((unsigned char)s[i] == C1_LEAD && !c1)
			continue;
		text_add_bytes(to, s + from, i - from);
		/* A code point of these is the second of its bytes. */
		i += c1;
		add_escaped(to, (unsigned char)s[i]);
		from = i + 1;
	}
	text_add_bytes(to, s + from, length - from);
}

/* Names are bytes of somebody's file: what is no UTF-8 would make the line no JSON. */
void json_string(struct text *to, const char *s)
{
	size_t good;

	if (!s) {
		text_add(to, "null");
		return;
	}
	text_add_char(to, '"');
	for (;;) {
		good = text_utf8_prefix(s);
		add_utf8(to, s, good);
		s += good;
		if (!*s)
			break;
		text_add_char(to, '?');
		s++;
	}
	text_add_char(to, '"');
}

void json_put_string(struct text *to, const char *before, const char *s)
{
	text_add(to, before);
	json_string(to, s);
}

void json_put_number(struct text *to, const char *before, uint64_t number)
{
	text_add(to, before);
	text_add_number(to, number, 0, ' ');
}

/* 0: it is not known. */
static void put_known(struct text *to, const char *before, uint64_t number)
{
	if (number)
		json_put_number(to, before, number);
	else
		json_put_string(to, before, NULL);
}

/* @value is JSON already, or NULL. */
static void put_value(struct text *to, const char *before, const char *value)
{
	text_add(to, before);
	text_add(to, value ? value : "null");
}

/* But for whether it is guessed, which comes last. */
static void add_frame(struct text *to, const void *item)
{
	const struct frame *frame = item;
	/* Of what is told by a line there is none. */
	bool has_offset = (frame->module || frame->name) && frame->kind != FRAME_V8;
	uint64_t offset = has_offset ? frame->offset : frame->address.value;

	json_put_string(to, "{\"kind\":", frame_kind_name(frame->kind));
	json_put_string(to, ",\"name\":", frame->name);
	json_put_string(to, ",\"module\":", frame->module);
	json_put_number(to, ",\"offset\":", offset);
	if (frame->in_file)
		json_put_number(to, ",\"file_offset\":", frame->file_offset);
	else
		json_put_string(to, ",\"file_offset\":", NULL);
	json_put_string(to, ",\"file\":", frame->source);
	put_known(to, ",\"line\":", frame->line);
	put_known(to, ",\"column\":", frame->column);
	json_put_string(to, ",\"made_from\":", frame->made_from);
	json_put_string(to, ",\"tier\":", frame->tier);
	text_add(to, frame->inlined ? ",\"inlined\":true" : ",\"inlined\":false");
}

static void add_stack(struct text *to, const void *item)
{
	const struct stack *stack = item;

	text_add_char(to, '[');
	for (size_t i = 0; i < stack->count; i++) {
		const struct frame *frame = &stack->frames[i];

		if (i)
			text_add_char(to, ',');
		output_render(to, frame->rendering, frame, add_frame);
		text_add(to, frame->guessed ? ",\"guessed\":true}" : ",\"guessed\":false}");
	}
	json_put_string(to, "],\"stack_end\":", stack_end_name(stack->end));
	text_add(to, "}\n");
}

/* What hits and calls have alike, but for the stack, which comes last. */
void json_begin_hit(struct output *output, const char *type, const struct hit *hit)
{
	uint64_t offset_ns = output->wall_clock ? (uint64_t)output->wall_offset_ns : 0;
	struct text *line = &output->line;

	json_put_string(line, "{\"type\":", type);
	json_put_number(line, ",\"time_ns\":", hit->time_ns + offset_ns);
	json_put_number(line, ",\"pid\":", (uint64_t)hit->pid);
	json_put_number(line, ",\"tid\":", (uint64_t)hit->tid);
	json_put_string(line, ",\"comm\":", hit->comm);
	json_put_string(line, ",\"method\":", hit->method);
	json_put_string(line, ",\"tier\":", hit->tier);
	put_known(line, ",\"duration_ns\":", hit->duration_ns);
}

static void end_hit(struct output *output, const struct hit *hit)
{
	struct text *line = &output->line;

	text_add(line, ",\"stack\":");
	if (hit->stack)
		output_render(line, hit->stack->rendering, hit->stack, add_stack);
	else
		text_add(line, "[],\"stack_end\":null}\n");
	output_line(output);
}

void json_hit(struct output *output, const struct hit *hit)
{
	json_begin_hit(output, "hit", hit);
	end_hit(output, hit);
}

void json_call(struct output *output, const struct output_call *call)
{
	static const char *const ends[WATCH_FATES] = {
		[WATCH_RETURNED] = "returned", [WATCH_UNWOUND] = "unwound",
		[WATCH_ENTERED] = "not-known", [WATCH_NOT_KEPT] = "not-kept",
		[WATCH_UNSEEN] = "not-seen",   [WATCH_THREAD_ENDED] = "thread-ended",
		[WATCH_RUNNING] = "running",   [WATCH_TAIL_CALL] = "tail-call",
	};
	struct text *line = &output->line;

	json_begin_hit(output, "call", call->hit);
	json_put_string(line, ",\"instance\":", call->is_instance ? call->name : NULL);
	json_put_string(line, ",\"end\":", ends[call->fate]);
	put_value(line, ",\"arguments\":", call->arguments);
	put_value(line, ",\"result\":", call->result);
	json_put_string(line, ",\"no_values\":", call->why);
	put_value(line, ",\"exception\":", call->exception);
	json_put_string(line, ",\"no_exception\":", call->why_not);
	end_hit(output, call->hit);
}
