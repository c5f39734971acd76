/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far a name is from what somebody wrote: for "did you mean". */
#ifndef METHOD_NEAR_H
#define METHOD_NEAR_H

/*
 * The edit distance between the two names, or a number above @limit if it is larger, or larger
 * than is tolerable for a name of that length.
 */
unsigned int near_distance(const char *wanted, const char *actual, unsigned int limit);

#endif
