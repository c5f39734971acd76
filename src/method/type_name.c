// SPDX-License-Identifier: GPL-2.0-or-later
/* C#'s and IL's words for types become those of the CLR, for names and patterns alike. */
#include "method/type_name.h"

#include <errno.h>
#include <stdlib.h>

#include "mapparse/mapparse.h"

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
