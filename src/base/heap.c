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
	KEPT_BYTES = 128 << 20,	 /* of addresses; memory is only what is used */
	SINGLE_BYTES = 32 << 20, /* the most that the C library takes: HEAP_MAX_SIZE / 2 */
	HUGE_PAGE_BYTES = 2 << 20,
	USUAL_BYTES = 128 << 10, /* what the C library begins with, of all three */
};

static void set_limits(int bytes)
{
	mallopt(M_MMAP_THRESHOLD, bytes < SINGLE_BYTES ? bytes : SINGLE_BYTES);
	mallopt(M_TRIM_THRESHOLD, bytes);
	mallopt(M_TOP_PAD, bytes);
}

void heap_begin(void)
{
	char *old_end = sbrk(0), *begin, *end;
	void *volatile first; /* or the compiler leaves it out */

	set_limits(KEPT_BYTES);
	/* More than there is, so that it grows. */
	first = malloc(2 * USUAL_BYTES);
	free(first);
	/* Of the first huge page nothing may be in use before: it is behind all that is. */
	begin = old_end + 2 * USUAL_BYTES;
	begin += (HUGE_PAGE_BYTES - (uintptr_t)begin % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
	end = (char *)sbrk(0);
	if (end <= begin)
		return;
	(void)madvise(begin, (size_t)(end - begin), MADV_HUGEPAGE);
	/* At once what else comes page by page; Linux before 5.14 does not know how. */
	(void)madvise(old_end, (size_t)(begin - old_end), MADV_POPULATE_WRITE);
}

void heap_settle(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	set_limits(USUAL_BYTES);
}
