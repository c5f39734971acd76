// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads rows "RVA SIZE NAME" of canonical names (r2r_names -c) from standard input; each name,
 * rendered to every spelling and parsed back, must be the same method. Prints those that are
 * not, then how many names there were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mapparse/mapparse.h"

static const struct {
	enum mapparse_spelling spelling;
	const char *name;
} spellings[] = {
	{ MAPPARSE_SPELLING_ANY, "canonical" },
	{ MAPPARSE_SPELLING_IL, "IL" },
	{ MAPPARSE_SPELLING_CLR, "CLR" },
	{ MAPPARSE_SPELLING_CSHARP, "C#" },
};

static bool survives(const struct mapparse_name *name, size_t i, const char *canonical)
{
	_cleanup_free_ char *rendered = mapparse_name_render(name, spellings[i].spelling);
	_cleanup_(mapparse_name_deinit) struct mapparse_name back = { 0 };
	bool same = rendered &&
		    mapparse_name_parse(&back, spellings[i].spelling, rendered, strlen(rendered)) ==
			    0 &&
		    mapparse_name_equal(name, &back);

	if (!same)
		printf("%s: %s: %s\n", spellings[i].name, canonical, rendered ? rendered : "?");
	return same;
}

int main(void)
{
	_cleanup_(mapparse_name_deinit) struct mapparse_name name = { 0 };
	size_t names = 0, failed = 0, capacity = 0;
	_cleanup_free_ char *line = NULL;

	while (getline(&line, &capacity, stdin) > 0) {
		const char *size = strchr(line, ' ');
		const char *text = size ? strchr(size + 1, ' ') : NULL;
		size_t length;
		bool good;

		if (!text)
			continue;
		text++;
		length = strcspn(text, "\n");
		line[(size_t)(text - line) + length] = '\0';
		names++;
		good = mapparse_name_parse(&name, MAPPARSE_SPELLING_ANY, text, length) == 0 &&
		       name.canonical.length == length &&
		       memcmp(name.canonical.start, text, length) == 0;
		if (!good)
			printf("parsed: %s: %.*s\n", text, (int)name.canonical.length,
			       name.canonical.start);
		for (size_t i = 0; good && i < sizeof(spellings) / sizeof(spellings[0]); i++)
			good = survives(&name, i, text);
		failed += !good;
	}
	printf("%zu names, %zu failed\n", names, failed);
	return failed != 0;
}
