// SPDX-License-Identifier: GPL-2.0-or-later
/* What malloc() of the C library is told: called by session/. */
#include "base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	KEPT_BYTES = 128 << 20, /* of addresses; memory is only what is used */
	HUGE_PAGE_BYTES = 2 << 20,
	USUAL_BYTES = 128 << 10, /* what the C library begins with, of all three */
};

static void set_limits(int bytes)
{
	mallopt(M_MMAP_THRESHOLD, bytes);
	mallopt(M_TRIM_THRESHOLD, bytes);
	mallopt(M_TOP_PAD, bytes);
}

void heap_begin(void)
{
	char *end = sbrk(0);
	char *begin = end + (HUGE_PAGE_BYTES - (uintptr_t)end % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
	void *volatile first; /* or the compiler leaves it out */

	set_limits(KEPT_BYTES);
	/* More than there is, so that it grows. */
	first = malloc(HUGE_PAGE_BYTES);
	free(first);
	end = (char *)sbrk(0);
	if (end > begin)
		(void)madvise(begin, (size_t)(end - begin), MADV_HUGEPAGE);
}

void heap_settle(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	set_limits(USUAL_BYTES);
}
