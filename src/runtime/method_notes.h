/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a runtime may know of a method beside its bodies, as text: the runtimes fill it in, records
 * of sites and the log have it.
 */
#ifndef RUNTIME_METHOD_NOTES_H
#define RUNTIME_METHOD_NOTES_H

#include <stdbool.h>
#include <stddef.h>

/* Canonical names of the precompiled methods that have inlined another. */
struct method_inliners {
	char *method; /* that one's; NULL: nothing is known */
	char **names; /* of as many as were asked for, then NULL; NULL: nothing is known */
	size_t count; /* of all */
	bool whole;   /* there are no others */
};

void method_inliners_deinit(struct method_inliners *inliners);

#endif
