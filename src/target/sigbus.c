// SPDX-License-Identifier: GPL-2.0-or-later
/* What a truncated file turns into, from the start of a run to its end: session.c installs it. */
#include "target/sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARDED_MAX = 4096 };

/*
 * A signal handler gets no argument of ours, so this is the one place with state of
 * the process. Ranges are added and removed under a lock, which the handler does not need: a range
 * counts once its size is set.
 */
static pthread_mutex_t guarding = PTHREAD_MUTEX_INITIALIZER;

static struct {
	_Atomic uintptr_t start;
	_Atomic size_t size;
} guarded[GUARDED_MAX];
static atomic_size_t guarded_count;
static atomic_ulong missing_pages;
static uintptr_t page_size;

static bool is_guarded(uintptr_t address)
{
	size_t count = atomic_load(&guarded_count);

	for (size_t i = 0; i < count; i++) {
		if (address - atomic_load(&guarded[i].start) < atomic_load(&guarded[i].size))
			return true;
	}
	return false;
}

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
	int saved_errno = errno;
	void *zeros = MAP_FAILED;

	(void)context;
	if (is_guarded((uintptr_t)info->si_addr)) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel speaks in addresses */
		zeros = mmap((void *)page, page_size, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	if (zeros == MAP_FAILED) {
		/* Not ours: fail the way the program would have without us. */
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	} else {
		atomic_fetch_add(&missing_pages, 1);
	}
	errno = saved_errno;
}

int sigbus_install(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

bool sigbus_guard(const void *start, size_t size_bytes)
{
	size_t count, i = 0;

	pthread_mutex_lock(&guarding);
	count = atomic_load(&guarded_count);
	while (i < count && atomic_load(&guarded[i].size) != 0)
		i++;
	if (i < GUARDED_MAX) {
		atomic_store(&guarded[i].start, (uintptr_t)start);
		atomic_store(&guarded[i].size, size_bytes);
	}
	if (i == count && i < GUARDED_MAX)
		atomic_store(&guarded_count, count + 1);
	pthread_mutex_unlock(&guarding);
	return i < GUARDED_MAX;
}

void sigbus_unguard(const void *start)
{
	size_t count;

	pthread_mutex_lock(&guarding);
	count = atomic_load(&guarded_count);
	for (size_t i = 0; i < count; i++) {
		if (atomic_load(&guarded[i].start) == (uintptr_t)start)
			atomic_store(&guarded[i].size, 0);
	}
	pthread_mutex_unlock(&guarding);
}

unsigned long sigbus_missing_pages(void)
{
	return atomic_load(&missing_pages);
}
