/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For all unit programs: cmocka, which wants the first four before it, and a way to skip. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { UNIT_SKIPPED = 77 }; /* the customary exit code of a program that tried nothing */

/* Ends the program unless it may do what only root can. */
static inline void unit_needs_root(const char *what)
{
	if (geteuid() == 0)
		return;
	printf("skipped: only root can %s\n", what);
	exit(UNIT_SKIPPED);
}

/* As cmocka's skip(), and tests/test_unit.py tells why. */
#define unit_skip(why)                                      \
	do {                                                \
		printf("skipped: %s: %s\n", __func__, why); \
		fflush(stdout);                             \
		skip();                                     \
	} while (0)

#endif
