/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of parameters and fields whose values are not to be shown, by a regular expression. */
#ifndef VALUE_REDACTION_H
#define VALUE_REDACTION_H

#include <stdbool.h>

struct error;
struct redaction;

/* Names that are so by themselves, whatever is before, behind or between their words. */
#define REDACTION_DEFAULT "passw(or)?d|token|secret|authorization|api_?key"

/*
 * What @regex matches anywhere in a name, in upper and lower case alike; "" matches none. -EINVAL
 * with @err set if it is none, or -ENOMEM.
 */
int redaction_create(struct redaction **redaction, const char *regex, struct error *err);
void redaction_destroy(struct redaction *redaction);

/* As value_options.redacts, with the redaction as @ctx. What cannot be decided is not shown. */
bool redaction_hides(void *ctx, const char *name);

#endif
