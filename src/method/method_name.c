// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name's parts, which a runtime has filled in, become its one spelling: for output, and for
 * patterns. C#'s and IL's words for types become those of the CLR, for both alike.
 */
#include "method/method_name.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "mapparse/mapparse.h"

void method_name_deinit(struct method_name *name)
{
	text_deinit(&name->type);
	text_deinit(&name->type_args);
	text_deinit(&name->name);
	text_deinit(&name->method_args);
	text_deinit(&name->params);
}

void method_name_clear(struct method_name *name)
{
	text_clear(&name->type);
	text_clear(&name->type_args);
	text_clear(&name->name);
	text_clear(&name->method_args);
	text_clear(&name->params);
}

static void add_args(struct text *out, const struct text *args)
{
	if (args->length == 0)
		return;
	text_add_char(out, '[');
	text_add_printable(out, text_chars(args));
	text_add_char(out, ']');
}

void method_name_spell(const struct method_name *name, struct text *out)
{
	text_add_printable(out, text_chars(&name->type));
	add_args(out, &name->type_args);
	text_add(out, "::");
	text_add_printable(out, text_chars(&name->name));
	add_args(out, &name->method_args);
	text_add_char(out, '(');
	text_add_printable(out, text_chars(&name->params));
	text_add_char(out, ')');
}

uint64_t method_name_instantiation(const struct method_name *name)
{
	const struct text *of_type = &name->type_args, *of_method = &name->method_args;
	uint64_t hash;

	if (of_type->length == 0 && of_method->length == 0)
		return 0;
	/* With the zero at the end, so that the one does not go on where the other ends. */
	hash = hash_bytes(HASH_START, text_chars(of_type), of_type->length + 1);
	return hash_bytes(hash, text_chars(of_method), of_method->length + 1) | 1;
}

bool method_name_ok(const struct method_name *name)
{
	return text_ok(&name->type) && text_ok(&name->type_args) && text_ok(&name->name) &&
	       text_ok(&name->method_args) && text_ok(&name->params);
}

/* Types ----------------------------------------------------------------------------------- */

const char *type_list_element_end(const char *start, const char *end)
{
	int depth = 0;

	for (const char *p = start; p < end; p++) {
		if (*p == '[' || *p == '<' || *p == '(')
			depth++;
		else if (*p == ']' || *p == '>' || *p == ')')
			depth--;
		else if (*p == ',' && depth == 0)
			return p;
	}
	return end;
}

bool type_name_normalise(const char *chars, size_t length, bool as_argument, struct text *out)
{
	char *spelled = mapparse_type_render(chars, length, as_argument);

	if (!spelled) {
		out->failed |= errno == ENOMEM;
		return false;
	}
	text_add(out, spelled);
	free(spelled);
	return true;
}
