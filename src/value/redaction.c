// SPDX-License-Identifier: GPL-2.0-or-later
/* --redact, for programs that capture (value.h): which names it means. */
#include "value/redaction.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
	MATCH_LIMIT = 100000,
	HEAP_LIMIT_KB = 1024,
	MESSAGE_BYTES = 128,
};

struct redaction {
	pcre2_code *regex; /* NULL: it matches nothing */
	pcre2_match_data *match;
	pcre2_match_context *context;
};

static int refuse(const char *regex, int code, size_t offset, struct error *err)
{
	PCRE2_UCHAR message[MESSAGE_BYTES];

	pcre2_get_error_message(code, message, sizeof(message));
	return error_set(
		err, -EINVAL,
		"--redact takes a regular expression, and '%s' is none: %s at character %zu", regex,
		(const char *)message, offset + 1);
}

int redaction_create(struct redaction **out, const char *regex, struct error *err)
{
	struct redaction *redaction = calloc(1, sizeof(*redaction));
	int code = 0, result = 0;
	size_t offset = 0;

	if (!redaction)
		return error_set(err, -ENOMEM, "no memory for --redact");
	*out = redaction;
	if (!*regex)
		return 0;
	redaction->regex = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
					 PCRE2_CASELESS | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C,
					 &code, &offset, NULL);
	if (redaction->regex) {
		redaction->match = pcre2_match_data_create_from_pattern(redaction->regex, NULL);
		redaction->context = pcre2_match_context_create(NULL);
	}
	if (!redaction->regex && code != PCRE2_ERROR_HEAP_FAILED)
		result = refuse(regex, code, offset, err);
	else if (!redaction->regex || !redaction->match || !redaction->context)
		result = error_set(err, -ENOMEM, "no memory for --redact");
	if (result) {
		redaction_destroy(redaction);
		*out = NULL;
		return result;
	}
	pcre2_set_match_limit(redaction->context, MATCH_LIMIT);
	pcre2_set_heap_limit(redaction->context, HEAP_LIMIT_KB);
	return 0;
}

void redaction_destroy(struct redaction *redaction)
{
	if (!redaction)
		return;
	pcre2_code_free(redaction->regex);
	pcre2_match_data_free(redaction->match);
	pcre2_match_context_free(redaction->context);
	free(redaction);
}

bool redaction_hides(void *ctx, const char *name)
{
	const struct redaction *redaction = ctx;

	return name && redaction->regex &&
	       pcre2_match(redaction->regex, (PCRE2_SPTR)name, strlen(name), 0, 0, redaction->match,
			   redaction->context) != PCRE2_ERROR_NOMATCH;
}
