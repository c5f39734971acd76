// SPDX-License-Identifier: GPL-2.0-or-later
/* How far a name is from what was asked for: for near misses, by way of pattern.c. */
#include "method/near.h"

#include <string.h>

/* Levenshtein distance, or a number above @limit as soon as it must be more. */
static unsigned int edit_distance(const char *a, const char *b, unsigned int limit)
{
	enum { LONGEST = 255 };
	unsigned int row[LONGEST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);
	size_t gap = a_length > b_length ? a_length - b_length : b_length - a_length;

	if (a_length > LONGEST || b_length > LONGEST || gap > limit)
		return limit + 1;
	for (unsigned int j = 0; j <= b_length; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= a_length; i++) {
		unsigned int diagonal = row[0], best = i;

		row[0] = i;
		for (unsigned int j = 1; j <= b_length; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);
			unsigned int add = row[j - 1] + 1, drop = row[j] + 1;

			diagonal = row[j];
			row[j] = add < drop ? add : drop;
			row[j] = row[j] < change ? row[j] : change;
			best = row[j] < best ? row[j] : best;
		}
		if (best > limit)
			return limit + 1;
	}
	return row[b_length];
}

/* The longer a name, the more may be wrong with it and it is still meant. */
static unsigned int tolerance(const char *wanted, unsigned int limit)
{
	unsigned int tolerated = 2 + (unsigned int)strlen(wanted) / 4;

	return tolerated < limit ? tolerated : limit;
}

unsigned int near_distance(const char *wanted, const char *actual, unsigned int limit)
{
	unsigned int allowed = tolerance(wanted, limit);
	unsigned int distance = edit_distance(wanted, actual, allowed);

	return distance <= allowed ? distance : limit + 1;
}
