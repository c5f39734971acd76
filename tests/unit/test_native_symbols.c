// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of real files, held against what nm says of the same files. */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/native/name_filter.h"
#include "runtime/native/symbols.h"
#include "tests/unit/golden.h"

enum { PATH_BYTES = 512, LINE_BYTES = 4096 };

static struct span map(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	void *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	fclose(file);
	return (struct span){ bytes, (size_t)st.st_size };
}

/* Each function that nm lists is found at its first and last byte, by this or a plainer name. */
static size_t compare(const char *options, const char *path)
{
	struct span file = map(path);
	struct native_symbols *symbols;
	char command[PATH_BYTES], line[LINE_BYTES];
	size_t compared = 0, by_name = 0;
	FILE *nm;

	assert_int_equal(native_symbols_create(&symbols, file, 0, NULL), 0);
	snprintf(command, sizeof(command), "nm --defined-only -S %s %s 2>/dev/null", options, path);
	nm = popen(command, "re");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		char kind, name[LINE_BYTES];
		unsigned long begin, size;
		const struct native_symbol *found;

		if (sscanf(line, "%lx %lx %c %4095s", &begin, &size, &kind, name) != 4 ||
		    !strchr("tTwWi", kind) || size == 0)
			continue;
		name[strcspn(name, "@")] = '\0';
		found = native_symbols_find(symbols, begin);
		if (!found) {
			fail_msg("%s: %s at 0x%lx is not found", path, name, begin);
			break;
		}
		assert_true(begin - found->begin < found->size);
		assert_non_null(native_symbols_find(symbols, begin + size - 1));
		compared++;
		by_name += strcmp(found->name, name) == 0;
	}
	pclose(nm);
	printf("%s: %zu functions, %zu of %zu by the same name\n", path,
	       native_symbols_count(symbols), by_name, compared);
	/* Others are aliases. */
	assert_true(by_name * 2 > compared);
	native_symbols_destroy(symbols);
	munmap((void *)(uintptr_t)file.start, file.size);
	return compared;
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (strstr(info->dlpi_name, "/libc.so"))
		*(size_t *)ctx = compare("-D", info->dlpi_name);
	return 0;
}

UNIT_TEST(functions_of_real_files)
{
	char own[PATH_BYTES] = "";
	size_t count = 0;

	dl_iterate_phdr(compare_loaded, &count);
	assert_true(count > 1000);
	/* This test itself: it has a .symtab, and static functions. */
	assert_return_code(readlink("/proc/self/exe", own, sizeof(own) - 1), errno);
	assert_true(compare("", own) > 50);
}

UNIT_TEST(the_plainest_name)
{
	/* Not what a sanitizer has put in its place. */
	struct link_map *libc = dlopen("libc.so.6", RTLD_NOW);
	struct native_symbols *symbols;
	size_t aliases = 0, indirect = 0;
	struct span file;
	uint64_t at;

	assert_non_null(libc);
	file = map(libc->l_name);
	assert_int_equal(native_symbols_create(&symbols, file, 0, NULL), 0);
	at = (uint64_t)(uintptr_t)dlsym(libc, "malloc") - libc->l_addr;
	assert_string_equal(native_symbols_find(symbols, at)->name, "malloc");
	assert_string_equal(native_symbols_find(symbols, at + 3)->name, "malloc");
	at = (uint64_t)(uintptr_t)dlsym(libc, "write") - libc->l_addr;
	assert_string_equal(native_symbols_find(symbols, at)->name, "write");
	assert_null(native_symbols_find(symbols, 0));
	assert_null(native_symbols_find(symbols, UINT64_MAX));
	/* All names of one address are there, the plainest before the others. */
	for (size_t i = 0; i < native_symbols_count(symbols); i++) {
		const struct native_symbol *symbol = native_symbols_get(symbols, i);

		aliases += symbol->begin == at;
		if (symbol->begin == at && aliases == 1)
			assert_string_equal(symbol->name, "write");
		indirect += symbol->indirect && strcmp(symbol->name, "memcpy") == 0;
	}
	assert_in_range(aliases, 2, 8);
	assert_int_equal(indirect, 1);
	native_symbols_destroy(symbols);
	munmap((void *)(uintptr_t)file.start, file.size);
	dlclose(libc);
}

static size_t pick(const struct native_symbols *symbols, const char *literals,
		   struct native_symbol **picked)
{
	struct name_filter filter;
	size_t count;

	name_filter_init(&filter, literals);
	assert_int_equal(native_symbols_pick(symbols, &filter, picked, &count), 0);
	return count;
}

/* Those that pass are the same as among all, in the same order, however they are read. */
UNIT_TEST(picked)
{
	static const char *const literals[] = { "", "native", "the_plainest", "nothing_like_it" };
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct span own = map("/proc/self/exe");
	struct native_symbols *symbols;

	assert_int_equal(native_symbols_create(&symbols, own, 0, NULL), 0);
	for (size_t i = 0; i < 2 * sizeof(literals) / sizeof(literals[0]); i++) {
		const char *literal = literals[i / 2];
		struct native_symbol *some;
		struct name_filter filter;
		size_t found, next = 0;

		native_symbols_read_by(symbols, i % 2 ? fd : -1);
		found = pick(symbols, literal, &some);
		name_filter_init(&filter, literal);
		for (size_t all = 0; all < native_symbols_count(symbols); all++) {
			const struct native_symbol *is = native_symbols_get(symbols, all);

			if (!name_filter_passes(&filter, is->name) || strstr(is->name, ".cold"))
				continue;
			assert_true(next < found);
			assert_int_equal(some[next].begin, is->begin);
			assert_string_equal(some[next++].name, is->name);
		}
		assert_int_equal(next, found);
		assert_true(found > 0 || literal == literals[3]);
		free(some);
	}
	native_symbols_destroy(symbols);
	munmap((void *)(uintptr_t)own.start, own.size);
	close(fd);
}

UNIT_TEST(demangled)
{
	char *name;

	name = native_symbol_demangle("_ZNSt6vectorIiSaIiEE9push_backEOi");
	assert_string_equal(name, "std::vector<int, std::allocator<int> >::push_back(int&&)");
	free(name);
	assert_null(native_symbol_demangle("malloc"));
	assert_null(native_symbol_demangle("_Z"));
}

/* Whatever is changed in a file, or cut off. */
UNIT_TEST(damaged)
{
	struct span file = map("/proc/self/exe");
	unsigned int seed = 1;

	for (int i = 0; i < 40; i++) {
		size_t size = i % 2 ? file.size : (size_t)rand_r(&seed) % file.size;
		struct golden copy = golden_copy(file.start, size);
		struct native_symbols *symbols;

		for (int flips = 0; size && flips < 200; flips++)
			copy.bytes[(size_t)rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
		assert_int_equal(native_symbols_create(&symbols, golden_span(&copy), 0, NULL), 0);
		for (uint64_t address = 0; address < size; address += 4096)
			native_symbols_find(symbols, address);
		native_symbols_destroy(symbols);
		golden_free(&copy);
	}
	munmap((void *)(uintptr_t)file.start, file.size);
}

UNIT_MAIN(NULL, NULL)
