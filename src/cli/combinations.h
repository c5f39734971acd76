/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last look at a command line: see options_parse(). */
#ifndef CLI_COMBINATIONS_H
#define CLI_COMBINATIONS_H

struct error;
struct options;

/* Do they go together? -EINVAL with @err saying which do not. */
int options_check(const struct options *options, struct error *err);

#endif
