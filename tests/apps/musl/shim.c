// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's runtime for musl wants a libstdc++ and a libgcc. Debian has those for glibc, which musl's loader takes but
 * for what is here. It goes under the name of glibc's loader, which they ask for and a target on musl does not have.
 */
#define _GNU_SOURCE
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct at_exit {
	void (*run)(void *object);
	void *object;
	struct at_exit *next;
};

static pthread_key_t of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* It always takes care of other threads. */
char __libc_single_threaded;

/* What this CPU can do nobody asks: 0 is nothing beyond x86-64. */
unsigned int __cpu_model[4];

int __cpu_indicator_init(void)
{
	return 0;
}

/* As glibc's <dlfcn.h> has it. */
struct found_object {
	unsigned long long flags;
	void *begin;
	void *end;
	void *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

struct search {
	uintptr_t address;
	struct found_object found;
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	uintptr_t base = info->dlpi_addr;
	bool here = false;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *each = &info->dlpi_phdr[i];
		uintptr_t begin = base + each->p_vaddr;

		if (each->p_type == PT_GNU_EH_FRAME)
			search->found.eh_frame = (void *)begin;
		if (each->p_type != PT_LOAD)
			continue;
		if (search->address >= begin && search->address - begin < each->p_memsz) {
			search->found.begin = (void *)begin;
			search->found.end = (void *)(begin + each->p_memsz);
			here = true;
		}
	}
	if (!here)
		search->found = (struct found_object){ 0 };
	return here && search->found.eh_frame;
}

int _dl_find_object(void *address, void *result)
{
	struct search search = { .address = (uintptr_t)address };

	if (!dl_iterate_phdr(look, &search))
		return -1;
	memcpy(result, &search.found, sizeof(search.found));
	return 0;
}

uint32_t arc4random(void)
{
	uint32_t number = 0;

	return getrandom(&number, sizeof(number), 0) == sizeof(number) ? number : 4;
}

size_t __strftime_l(char *s, size_t size, const char *format, const struct tm *tm, locale_t locale)
{
	return strftime_l(s, size, format, tm, locale);
}

static void run_all(void *first)
{
	for (struct at_exit *each = first, *next; each; each = next) {
		next = each->next;
		each->run(each->object);
		free(each);
	}
}

static void make_key(void)
{
	if (pthread_key_create(&of_thread, run_all) != 0)
		abort();
}

int __cxa_thread_atexit_impl(void (*run)(void *), void *object, void *library)
{
	struct at_exit *added = malloc(sizeof(*added));

	(void)library;
	if (!added || pthread_once(&once, make_key) != 0)
		return -1;
	*added = (struct at_exit){ run, object, pthread_getspecific(of_thread) };
	return pthread_setspecific(of_thread, added);
}
