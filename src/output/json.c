// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json.h"

#include <json-c/json.h>
#include <string.h>

#include "runtime/dotnet/identity.h"
#include "session/imported.h"
#include "session/resolve.h"
#include "base/text.h"

/*
 * How many bytes the UTF-8 character at @p has, 0 if it is none: overlong, a surrogate, cut short.
 */
static size_t utf8_length(const unsigned char *p)
{
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (length == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0)))
		return 0;
	if (length == 4 &&
	    (p[0] > 0xf4 || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90)))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/* Names are bytes of somebody's file: what is no UTF-8 would make the line no JSON. */
static struct json_object *string_or_null(const char *s)
{
	struct text clean = { 0 };
	struct json_object *string;

	if (!s)
		return NULL;
	while (*s) {
		size_t length = utf8_length((const unsigned char *)s);

		if (length)
			text_add_bytes(&clean, s, length);
		else
			text_add_char(&clean, '?');
		s += length ? length : 1;
	}
	string = json_object_new_string_len(text_chars(&clean), (int)clean.length);
	text_deinit(&clean);
	return string;
}

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

static struct json_object *number(uint64_t value)
{
	return json_object_new_uint64(value);
}

static struct json_object *begin(const char *type)
{
	struct json_object *object = json_object_new_object();

	add(object, "type", json_object_new_string(type));
	return object;
}

static void end(struct output *output, struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      output->to);
	fputc('\n', output->to);
	json_object_put(object);
}

static struct json_object *strings(const char *const *list)
{
	struct json_object *array = json_object_new_array();

	for (; *list; list++)
		json_object_array_add(array, json_object_new_string(*list));
	return array;
}

/* null if it is not known in full. */
static struct json_object *inlined_into(const struct site *site,
					const struct resolution *resolution)
{
	struct json_object *names = NULL;
	struct dotnet_inliners inliners;
	struct r2r_method method;

	if (!resolution->inlining || !dotnet_method_find(&resolution->images, &site->id, &method))
		return NULL;
	if (dotnet_inliners_find(&inliners, resolution->inlining, &method, NULL) == 1)
		names = json_object_new_array();
	for (size_t i = 0; names && i < inliners.count; i++) {
		struct text name = { 0 };

		dotnet_method_spell(&inliners.methods[i], &name);
		json_object_array_add(names, string_or_null(text_chars(&name)));
		text_deinit(&name);
	}
	dotnet_inliners_deinit(&inliners);
	return names;
}

/* null if it is none of a P/Invoke, or not known. */
static struct json_object *native_function(const struct site *site, struct resolution *resolution)
{
	struct text name = { 0 };
	struct json_object *string = NULL;

	if (imported_function(resolution, &site->id, &name))
		string = string_or_null(text_chars(&name));
	text_deinit(&name);
	return string;
}

void json_site(struct output *output, const struct site *site, struct resolution *resolution)
{
	struct json_object *object = begin("site"), *sources = json_object_new_array();
	bool has_code = site->offset.value != 0;

	add(object, "method", string_or_null(site->method));
	add(object, "made_from", string_or_null(site->made_from));
	add(object, "image", string_or_null(site->image));
	add(object, "tier", json_object_new_string(tier_name(site->tier)));
	add(object, "state", string_or_null(body_state_name(site->state)));
	add(object, "mechanism", json_object_new_string(mechanism_name(site->mechanism)));
	add(object, "reason", string_or_null(reason_code(site->reason)));
	add(object, "file",
	    site->file == BODY_NO_FILE ?
		    NULL :
		    string_or_null(target_file(&resolution->target, site->file)->path));
	add(object, "file_offset", has_code ? number(site->offset.value) : NULL);
	add(object, "address", site->address.value ? number(site->address.value) : NULL);
	add(object, "size", site->size ? number(site->size) : NULL);
	for (unsigned int bit = 0; bit < NAME_SOURCES_MAX; bit++) {
		if (site->sources >> bit & 1)
			json_object_array_add(
				sources, string_or_null(resolution_source_name(resolution, bit)));
	}
	add(object, "names_from", sources);
	add(object, "inlined_into", inlined_into(site, resolution));
	add(object, "native_function", native_function(site, resolution));
	end(output, object);
}

static struct json_object *frame_of(const struct frame *frame)
{
	struct json_object *entry = json_object_new_object();

	add(entry, "kind", json_object_new_string(frame_kind_name(frame->kind)));
	add(entry, "name", string_or_null(frame->name));
	add(entry, "module", string_or_null(frame->module));
	add(entry, "offset",
	    number(frame->module || frame->name ? frame->offset : frame->address.value));
	add(entry, "file_offset", frame->in_file ? number(frame->file_offset) : NULL);
	add(entry, "file", NULL);
	add(entry, "line", NULL);
	add(entry, "inlined", json_object_new_boolean(frame->inlined));
	add(entry, "guessed", json_object_new_boolean(frame->guessed));
	return entry;
}

void json_hit(struct output *output, const struct hit *hit, uint64_t time_ns)
{
	struct json_object *object = begin("hit"), *frames = json_object_new_array();
	const struct stack *stack = hit->stack;

	add(object, "time_ns", number(time_ns));
	add(object, "pid", json_object_new_int(hit->pid));
	add(object, "tid", json_object_new_int(hit->tid));
	add(object, "comm", string_or_null(hit->comm));
	add(object, "method", string_or_null(hit->method));
	add(object, "tier", json_object_new_string(hit->tier));
	add(object, "duration_ns", hit->duration_ns ? number(hit->duration_ns) : NULL);
	for (size_t i = 0; stack && i < stack->count; i++)
		json_object_array_add(frames, frame_of(&stack->frames[i]));
	add(object, "stack", frames);
	add(object, "stack_end", stack ? json_object_new_string(stack_end_name(stack->end)) : NULL);
	end(output, object);
}

static struct json_object *buckets_of(const struct histogram *histogram)
{
	struct json_object *buckets = json_object_new_array();
	uint64_t low, high;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		struct json_object *bucket;

		if (histogram->buckets[i] == 0)
			continue;
		latency_bucket_bounds(i, &low, &high);
		bucket = json_object_new_object();
		add(bucket, "low_ns", number(low));
		add(bucket, "high_ns", number(high));
		add(bucket, "count", number(histogram->buckets[i]));
		json_object_array_add(buckets, bucket);
	}
	return buckets;
}

void json_histogram(struct output *output, const struct histogram_label *label,
		    const struct histogram *histogram, const char *const *bounds)
{
	struct json_object *object = begin("hist");
	bool any = histogram->returned;

	add(object, "method", string_or_null(label->method));
	add(object, "tid", label->by == LATENCY_BY_TID ? number(label->tid) : NULL);
	add(object, "caller",
	    label->by == LATENCY_BY_CALLER ? string_or_null(label->caller) : NULL);
	add(object, "count", number(histogram->returned));
	add(object, "sum_ns", number(histogram->sum_ns));
	add(object, "min_ns", any ? number(histogram->min_ns) : NULL);
	add(object, "max_ns", any ? number(histogram->max_ns) : NULL);
	for (size_t i = 0; i < HISTOGRAM_SHARES; i++)
		add(object, histogram_shares[i].key,
		    any ? number(histogram_percentile(histogram, histogram_shares[i].share)) :
			  NULL);
	add(object, "unwound", number(histogram->unwound));
	add(object, "unfinished",
	    label->by == LATENCY_BY_SITE ? number(histogram->unfinished) : NULL);
	add(object, "not_timed", number(histogram->untimed));
	add(object, "buckets", buckets_of(histogram));
	if (histogram->linear) {
		struct json_object *linear = json_object_new_array();

		for (size_t i = 0; i < histogram->linear_count + 2; i++)
			json_object_array_add(linear, number(histogram->linear[i]));
		add(object, "linear", linear);
	}
	if (bounds)
		add(object, "lower_bound", strings(bounds));
	end(output, object);
}

void json_folded(struct output *output, const char *stack, uint64_t count)
{
	struct json_object *object = begin("folded"), *parts = json_object_new_array();
	struct text part = { 0 };

	add(object, "stack", parts);
	while (*stack) {
		size_t length = strcspn(stack, ";");

		text_clear(&part);
		text_add_bytes(&part, stack, length);
		json_object_array_add(parts, string_or_null(text_chars(&part)));
		stack += length + (stack[length] == ';');
	}
	text_deinit(&part);
	add(object, "count", number(count));
	end(output, object);
}

void json_count_begin(struct output *output, const struct site *site, uint64_t calls)
{
	struct json_object *object = begin("count");

	add(object, "method", string_or_null(site->method));
	add(object, "calls", number(calls));
	add(object, "bodies", json_object_new_array());
	output->record = object;
}

void json_count_body(struct output *output, const struct site *site, uint64_t calls)
{
	struct json_object *body = json_object_new_object();

	add(body, "tier", json_object_new_string(tier_name(site->tier)));
	add(body, "calls", number(calls));
	json_object_array_add(json_object_object_get(output->record, "bodies"), body);
}

void json_count_bounds(struct output *output, const char *const *codes)
{
	add(output->record, "lower_bound", strings(codes));
}

void json_count_end(struct output *output)
{
	end(output, output->record);
	output->record = NULL;
}

static void add_stacks(struct json_object *summary, const struct output_stacks *stacks)
{
	struct json_object *ends = stacks ? json_object_new_object() : NULL;

	for (enum stack_end end = 0; ends && end < STACK_ENDS; end++) {
		if (stacks->ends[end])
			add(ends, stack_end_name(end), number(stacks->ends[end]));
	}
	add(summary, "stack_ends", ends);
	add(summary, "guessed_frames", stacks ? number(stacks->guessed) : NULL);
}

void json_summary(struct output *output, uint64_t hits, const struct output_loss *losses,
		  const char *const *lower_bounds, const struct output_stacks *stacks)
{
	struct json_object *object = begin("summary"), *lost = json_object_new_object();

	add(object, "hits", number(hits));
	for (; losses->reason; losses++)
		add(lost, losses->reason, number(losses->count));
	add(object, "lost", lost);
	add(object, "lower_bound", strings(lower_bounds));
	add_stacks(object, stacks);
	end(output, object);
}
