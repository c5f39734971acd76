// SPDX-License-Identifier: GPL-2.0-or-later
/* Globs, for pattern.c. */
#include "method/glob.h"

#include <string.h>

bool glob_has_wildcard(const char *s)
{
	return strpbrk(s, "*?") != NULL;
}

bool glob_matches(const char *glob, const char *s)
{
	const char *star = NULL, *resume = NULL;

	while (*s) {
		if (*glob == '*') {
			star = glob++;
			resume = s;
		} else if (*glob == '?' || *glob == *s) {
			glob++;
			s++;
		} else if (star) {
			glob = star + 1;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}
