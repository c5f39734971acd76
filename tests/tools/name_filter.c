// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds the filter of native names against demangling all of them.
 *
 *   name_filter FILE EVERY [PATTERN...]
 *
 * First with pieces of all names of every so many-th function of FILE, then with each pattern of
 * all functions. A line for each of these: how many match, how many pass, how many match and do not.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/native/symbols.h"
#include "tests/helpers/name_filter.h"

enum { PIECES = 6 /* of each name */ };

struct counts {
	size_t matched;
	size_t passed;
	size_t missed;
};

static int die(const char *what)
{
	fprintf(stderr, "name_filter: %s\n", what);
	return 1;
}

/* Each name is demangled once for all patterns: that takes longest. */
static int compare(struct native_symbols *symbols, char **texts, size_t count)
{
	struct pattern **patterns;
	struct name_filter *filters = calloc(count + 1, sizeof(*filters));
	struct counts *counts = calloc(count + 1, sizeof(*counts));
	struct native_name name = { 0 };
	struct error err = { .text = "" };
	size_t missed = 0;

	if (!filters || !counts || patterns_create(&patterns, texts, count, &err))
		return die(err.text);
	for (size_t i = 0; i < count; i++)
		name_filter_init(&filters[i], pattern_native_literals(patterns[i]));
	for (size_t i = 0; i < native_symbols_count(symbols); i++) {
		const char *symbol = native_symbols_get(symbols, i)->name;

		if (native_name_read(&name, symbol))
			return die("no memory");
		for (size_t j = 0; j < count; j++) {
			bool passes = name_filter_passes(&filters[j], symbol);
			bool matches = pattern_matches_native(patterns[j], name.forms, name.count,
							      NULL) > 0;

			counts[j].passed += passes;
			counts[j].matched += matches;
			counts[j].missed += matches && !passes;
		}
	}
	for (size_t j = 0; j < count; j++) {
		missed += counts[j].missed;
		printf("%zu %zu %zu %s\n", counts[j].matched, counts[j].passed, counts[j].missed,
		       texts[j]);
	}
	native_name_deinit(&name);
	patterns_destroy(patterns, count);
	free(filters);
	free(counts);
	return missed != 0;
}

int main(int argc, char **argv)
{
	struct filter_trial trial = { .seed = 1 };
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, result;
	size_t every;
	struct native_symbols *symbols;
	struct span file;
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) != 0)
		return die("cannot open FILE");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	file = (struct span){ bytes, (size_t)st.st_size };
	every = strtoul(argv[2], NULL, 10);
	if (bytes == MAP_FAILED || native_symbols_create(&symbols, file, NULL))
		return die("cannot read FILE");
	for (size_t i = 0; every && i < native_symbols_count(symbols); i += every)
		try_symbol(&trial, native_symbols_get(symbols, i)->name, PIECES);
	printf("%zu functions, %zu pieces, %zu with words, %zu missed\n",
	       native_symbols_count(symbols), trial.pieces, trial.told, trial.missed);
	result = compare(symbols, argv + 3, (size_t)argc - 3);
	native_symbols_destroy(symbols);
	munmap(bytes, (size_t)st.st_size);
	close(fd);
	return result || trial.missed;
}
