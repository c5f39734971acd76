// SPDX-License-Identifier: GPL-2.0-or-later
/* See by_values.h. */
#include "session/by_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/text.h"
#include "base/vector.h"
#include "bpf/by.h"
#include "capture/capture.h"
#include "session/session_internal.h"
#include "session/values.h"
#include "value/by.h"

struct reading {
	const struct session *session;
	struct by_values *values;
	bool no_memory;
};

static char *text_of(const struct session *session, const struct by_key *key)
{
	const struct value_type *type = session_values_by(session, key->program);
	struct text text = { 0 };
	char *copy;

	if (!type)
		return NULL;
	value_by_add(type, key, session->options->format == FORMAT_JSON ? VALUE_JSON : VALUE_TEXT,
		     &text);
	copy = text_ok(&text) ? strdup(text_chars(&text)) : NULL;
	text_deinit(&text);
	return copy;
}

static void take(void *ctx, uint64_t number, const struct by_key *key)
{
	struct reading *reading = ctx;
	const struct by_value value = { number, text_of(reading->session, key) };
	struct by_values *values = reading->values;

	if (vector_add(&values->list, &values->count, &values->capacity, value))
		return;
	free(value.text);
	reading->no_memory = true;
}

static int by_number(const void *left, const void *right)
{
	const struct by_value *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

int by_values_read(struct by_values *values, const struct session *session)
{
	struct reading reading = { session, values, false };

	*values = (struct by_values){ 0 };
	capture_each_by_value(session->capture, take, &reading);
	if (values->count)
		qsort(values->list, values->count, sizeof(*values->list), by_number);
	return reading.no_memory ? -ENOMEM : 0;
}

void by_values_deinit(struct by_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		free(values->list[i].text);
	free(values->list);
}

char *by_values_text(const struct by_values *values, uint64_t number)
{
	size_t i = sorted_first(values->count, i_, values->list[i_].number < number);
	bool known = i < values->count && values->list[i].number == number;

	return known && values->list[i].text ? strdup(values->list[i].text) : NULL;
}

const char *by_values_rest(uint64_t number)
{
	return number == BY_OTHER ? "other" : number == BY_UNKNOWN ? "unknown" : NULL;
}
