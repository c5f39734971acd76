/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded before place-probe, it has allocations fail from main() on, its own and those of its libraries. FAIL is "site
 * HASH" (the first one that is made there: a site is a few return addresses, so the program may not lie at random
 * addresses), "nth N", "each N" or "from N"; "none" only counts. FAIL_RESULT is a file that gets a struct result.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	FRAMES = 4,	/* that make a site */
	OWN_FRAMES = 2, /* of backtrace()'s caller here, and of its caller */
	TOLD_FRAMES = 12,
	SITES = 1 << 16, /* a power of two */
};

/* tests/helpers/faults.py reads it. */
struct result {
	_Atomic uint64_t calls;
	_Atomic uint64_t failed;
	_Atomic uint64_t frames[TOLD_FRAMES]; /* of the last one that failed */
	struct {
		_Atomic uint64_t hash;
		_Atomic uint64_t first; /* which call it was made by first */
	} sites[SITES];
};

#define NEXT(name) __libc_##name

void *NEXT(malloc)(size_t size);
void *NEXT(calloc)(size_t count, size_t size);
void *NEXT(realloc)(void *memory, size_t size);
void *NEXT(memalign)(size_t alignment, size_t size);

static struct result *result;
static enum { FAIL_NONE, FAIL_SITE, FAIL_NTH, FAIL_EACH, FAIL_FROM } how;
static uint64_t number;
static atomic_bool counts;
static atomic_bool site_failed;
static __thread bool busy __attribute__((tls_model("initial-exec")));

static uint64_t hash_of(void *const *frames, int count)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001b3 ^ hash >> 29;
	return hash | 1;
}

static void note_site(uint64_t hash, uint64_t call)
{
	for (size_t i = hash >> 20 & (SITES - 1), tries = 0; tries < SITES;
	     i = (i + 1) & (SITES - 1), tries++) {
		uint64_t none = 0;

		if (atomic_load(&result->sites[i].hash) == hash)
			return;
		if (atomic_compare_exchange_strong(&result->sites[i].hash, &none, hash)) {
			atomic_store(&result->sites[i].first, call);
			return;
		}
		if (none == hash)
			return;
	}
}

static bool is_its_turn(uint64_t hash, uint64_t call)
{
	switch (how) {
	case FAIL_SITE:
		return hash == number && !atomic_exchange(&site_failed, true);
	case FAIL_NTH:
		return call == number;
	case FAIL_EACH:
		return call % number == 0;
	case FAIL_FROM:
		return call >= number;
	default:
		return false;
	}
}

/*
 * What nobody who calls a library can mend (docs/limits.md): json-c's parser writes through what it was refused, and of
 * libdw assertions fail where all is refused. A single refusal in libdw has to end as documented.
 */
static bool is_spared(void *const *frames, int count)
{
	Dl_info info;

	for (int i = 0; i < count; i++) {
		if (dladdr(frames[i], &info) && info.dli_fname &&
		    (strstr(info.dli_fname, "libjson-c") ||
		     (how == FAIL_FROM && strstr(info.dli_fname, "libdw"))))
			return true;
	}
	return false;
}

static __attribute__((noinline)) bool fails(void)
{
	void *frames[OWN_FRAMES + TOLD_FRAMES];
	uint64_t call, hash;
	bool answer;
	int count;

	if (!atomic_load(&counts) || busy)
		return false;
	busy = true;
	call = atomic_fetch_add(&result->calls, 1) + 1;
	count = backtrace(frames, OWN_FRAMES + FRAMES) - OWN_FRAMES;
	hash = hash_of(frames + OWN_FRAMES, count);
	note_site(hash, call);
	answer = is_its_turn(hash, call) && !is_spared(frames + OWN_FRAMES, count);
	if (answer && atomic_fetch_add(&result->failed, 1) == 0) {
		count = backtrace(frames, OWN_FRAMES + TOLD_FRAMES) - OWN_FRAMES;
		for (int i = 0; i < count; i++)
			atomic_store(&result->frames[i], (uintptr_t)frames[OWN_FRAMES + i]);
	}
	busy = false;
	if (answer)
		errno = ENOMEM;
	return answer;
}

void *malloc(size_t size)
{
	return fails() ? NULL : NEXT(malloc)(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : NEXT(calloc)(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : NEXT(realloc)(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails() ? NULL : NEXT(realloc)(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : NEXT(memalign)(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	if (fails())
		return ENOMEM;
	*memory = NEXT(memalign)(alignment, size);
	return *memory ? 0 : ENOMEM;
}

static void read_how(void)
{
	static const char *const words[] = {
		[FAIL_SITE] = "site", [FAIL_NTH] = "nth", [FAIL_EACH] = "each", [FAIL_FROM] = "from"
	};
	const char *text = getenv("FAIL");
	char word[16] = "";

	if (!text || sscanf(text, "%15s %li", word, (long *)&number) != 2)
		return;
	for (size_t i = FAIL_SITE; i <= FAIL_FROM; i++)
		how = strcmp(word, words[i]) == 0 ? i : how;
}

static void begin(void)
{
	const char *path = getenv("FAIL_RESULT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *frames[1];

	/* What it needs itself it gets now. */
	backtrace(frames, 1);
	read_how();
	if (fd >= 0 && ftruncate(fd, sizeof(*result)) == 0)
		result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (!result || result == MAP_FAILED)
		abort();
	/* Not in what starts it. */
	atomic_store(&counts, strncmp(program_invocation_short_name, "place-probe",
				      strlen("place-probe")) == 0);
}

static int (*program_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **env)
{
	begin();
	return program_main(argc, argv, env);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		    void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");

	program_main = main;
	return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
