/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options do not go together. */
#ifndef CLI_COMBINATIONS_H
#define CLI_COMBINATIONS_H

#include "cli/options.h"

/* Is option @name one that a record can follow? */
bool options_is_for_replay(const char *name);

/* -EINVAL with @err set if some of them do not. */
int options_check(struct options *options, struct error *err);

#endif
