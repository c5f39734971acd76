/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a shell may offer for the next word: --complete, which main.c has in place of a run. */
#ifndef SESSION_COMPLETE_H
#define SESSION_COMPLETE_H

#include <stdio.h>

struct error;
struct options;

/*
 * Write a line for each: of processes "PID NAME", if no PID was given; else of its methods, up to
 * the next part of the name. 0, or -errno with @err set.
 */
int complete(const struct options *options, FILE *to, struct error *err);

#endif
