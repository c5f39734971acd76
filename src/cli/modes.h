/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is printed and in which format: options that exclude each other, and which go together. */
#ifndef CLI_MODES_H
#define CLI_MODES_H

#include "cli/options.h"

/* Each -EINVAL with @err set if something else was asked for before. */
int modes_set(struct options *options, enum mode mode, struct error *err);
int modes_set_format(struct options *options, enum format format, struct error *err);

/* The unit of latencies. */
int modes_set_unit(struct options *options, enum time_unit unit, struct error *err);

/* --format=@name */
int modes_set_format_name(struct options *options, const char *name, struct error *err);

/* --flame=@path */
int modes_set_flame(struct options *options, const char *path, struct error *err);

/* Once all options are read: a page is of merged stacks, and goes where it was asked to. */
void modes_merge(struct options *options);

/* -EINVAL with @err set if the format does not go with the other options. */
int modes_check_format(const struct options *options, struct error *err);

/* Is option @name one that a record can follow (combinations.c)? */
bool options_is_for_replay(const char *name);

/* -EINVAL with @err set if some of them do not go together (combinations.c). */
int options_check(struct options *options, struct error *err);

#endif
