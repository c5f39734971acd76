/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Globs over names: * and ? only, since brackets belong to names. */
#ifndef METHOD_GLOB_H
#define METHOD_GLOB_H

#include <stdbool.h>

bool glob_matches(const char *glob, const char *s);

/* Is it one? Else it matches itself alone. */
bool glob_has_wildcard(const char *s);

#endif
