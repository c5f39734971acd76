// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts for text.c, and for whoever else goes on without memory; told at the end of a run. */
#include "base/shortage.h"

#include <stdatomic.h>

#include "base/log.h"

/* Of the process, as its memory is. */
static atomic_ulong refused;

void shortage_note(void)
{
	atomic_fetch_add(&refused, 1);
}

unsigned long shortage_count(void)
{
	return atomic_load(&refused);
}

void shortage_log(void)
{
	unsigned long count = shortage_count();

	if (count)
		log_print(
			"memory was refused %lu time%s, and what it was for is missing, such as bodies or names (run it where there is more)",
			count, count == 1 ? "" : "s");
}
