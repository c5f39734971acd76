// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts for text.c, and for whoever else goes on without memory; told by session/ at the end. */
#include "base/shortage.h"

#include <stdatomic.h>

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
