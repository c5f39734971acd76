// SPDX-License-Identifier: GPL-2.0-or-later
/* Which symbols are left out before names are demangled: never one whose name matches. */
#include "base/cleanup.h"
#include "unit.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/symbol_table.h"
#include "runtime/native/symbols.h"
#include "method/pattern.h"
#include "runtime/native/name_filter.h"

enum { PATH_BYTES = 512, EVERY = 10, PIECES = 2 };

static bool passes(const char *text, const char *symbol)
{
	struct name_filter filter;
	struct pattern *pattern;
	bool result;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	name_filter_init(&filter, pattern_native_literals(pattern));
	result = name_filter_passes(&filter, symbol);
	pattern_destroy(pattern);
	return result;
}

static bool matches(const char *text, const char *symbol)
{
	struct native_name name = { 0 };
	struct pattern *pattern;
	bool result;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	assert_int_equal(native_name_read(&name, symbol), 0);
	result = pattern_matches_native(pattern, name.forms, name.count, NULL) > 0;
	native_name_deinit(&name);
	pattern_destroy(pattern);
	return result;
}

/* They match, though the words of the pattern are not in the symbol as they are in the pattern. */
UNIT_TEST(what_matches_passes)
{
	static const char *const cases[][2] = {
		{ "x!uv_fs_open", "uv_fs_open" },
		{ "x!uv_fs_open", "uv_fs_open.constprop.0" },
		{ "x!uv_fs_open", "_Z10uv_fs_openv" },
		{ "x!shop::till::*", "_ZN4shop4till3addEi" },
		{ "x!*(shop::till const&)", "_ZN4shop4till3addERKS0_" },
		/* What the demangler writes. */
		{ "x!std::vector<int, std::allocator<int> >::push_back*",
		  "_ZNSt6vectorIiSaIiEE9push_backEOi" },
		{ "x!std::string::append(char const*)", "_ZNSs6appendEPKc" },
		{ "x!show(std::ostream&)", "_Z4showRSo" },
		{ "x!operator new[](unsigned long)", "_Znam" },
		{ "x!*::operator<<*", "_ZN4TilllsEi" },
		{ "x!(anonymous namespace)::f()", "_ZN12_GLOBAL__N_11fEv" },
		{ "x!*{lambda(int)#2}::operator()(int) const", "_ZZ4workvENKUliE0_clEi" },
		{ "x!non-virtual thunk to Till::add()", "_ZThn16_N4Till3addEv" },
		{ "x!*[clone .part.0]", "_Z4workv.part.0" },
		{ "x!*[deleting]", "_ZN4TillD0Ev" },
		{ "x!*::~Till()", "_ZN4TillD1Ev" },
		{ "x!/unsigned long, bool/", "_Z4workmb" },
		{ "x!/^std::string::append/", "_ZNSs6appendEPKc" },
		/* A blank is where the pattern has none. */
		{ "x!intwork<int>()", "_Z4workIiEiv" },
		{ "x!unsignedlongwork<int>()", "_Z4workIiEmv" },
		{ "x!Tillwork<int>()", "_Z4workIiE4Tillv" },
		{ "x!Tillconstwork<int>()", "_Z4workIiEK4Tillv" },
		{ "x!Drawer const& work<int>()", "_Z4workIiERK6Drawerv" },
		{ "x!*(DrawerTill::*)", "_Z4workM4Till6Drawer" },
		{ "x!*TillAS1AS2*", "_Z4workPU3AS2U3AS14Till" },
		{ "x!work of all", "work of all" },
		{ "x!workofall", "work of all" },
		/* Rust, of both kinds. */
		{ "x!*DwCfa as core::fmt::Display>::fmt*",
		  "_ZN62_$LT$gimli..constants..DwCfa$u20$as$u20$core..fmt..Display$GT$3fmt17hf89977af6177a316E" },
		{ "x!*DwCfaascore::fmt*",
		  "_ZN62_$LT$gimli..constants..DwCfa$u20$as$u20$core..fmt..Display$GT$3fmt17hf89977af6177a316E" },
		{ "x!*{{closure}}*",
		  "_ZN4shop4till28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE" },
		{ "x!*shop::till*", "_RNvNtC7mycrate4shop4till" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!matches(cases[i][0], cases[i][1]))
			fail_msg("%s does not match %s", cases[i][0], cases[i][1]);
		if (!passes(cases[i][0], cases[i][1]))
			fail_msg("%s does not let %s pass", cases[i][0], cases[i][1]);
	}
}

UNIT_TEST(most_do_not)
{
	static const char *const cases[][2] = {
		{ "x!uv_fs_open", "uv_fs_close" },
		{ "x!uv_fs_open", "_ZN2v88internal4Heap14CollectGarbageEv" },
		{ "x!malloc", "_ZN2v88internal4Heap14CollectGarbageEv" },
		{ "x!uv_*", "_ZN2v88internal4Heap14CollectGarbageEv" },
		{ "x!shop::till::*", "_ZN4shop6drawer3addEi" },
		{ "x!/^uv_fs_/", "_ZN4shop6drawer3addEi" },
		{ "x!*core::fmt::Debug*",
		  "_ZN62_$LT$gimli..constants..DwCfa$u20$as$u20$core..fmt..Display$GT$3fmt17hf89977af6177a316E" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (passes(cases[i][0], cases[i][1]))
			fail_msg("%s lets %s pass", cases[i][0], cases[i][1]);
	}
	/* Nothing to tell by. */
	assert_true(passes("x!*", "any"));
	assert_true(passes("x!/heap/i", "any"));
	assert_true(passes("x!std::*", "any"));
}

/* What is said of a regex is in all that it finds. */
UNIT_TEST(literals_of_regexes)
{
	static const char *const cases[][2] = {
		{ "x!/^uv_fs_/", "*uv_fs_" },
		{ "x!/a.b/", "a*b" },
		{ "x!/abc*d/", "ab*d" },
		{ "x!/abc+d/", "abc*d" },
		{ "x!/abc??d/", "ab**d" },
		{ "x!/till|drawer/", "" },
		{ "x!/(till)?x/", "" },
		{ "x!/[ab]till/", "" },
		{ "x!/a\\.b\\*c/", "a*b*c" },
		{ "x!/\\btill/", "" },
		{ "x!/till{0}x/", "" },
		{ "x!/till/i", "" },
		{ "x!/\\Qtill?\\E/", "" },
		{ "x!/a b/", "a*b" },
		{ "x!/shop::till$/", "shop::till*" },
		{ "x!/till\\(*/", "till**" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pattern *pattern;

		assert_int_equal(pattern_create(&pattern, cases[i][0], NULL), 0);
		assert_string_equal(pattern_native_literals(pattern), cases[i][1]);
		pattern_destroy(pattern);
	}
}

/*
 * Whatever a pattern can match must pass its filter: tried with pieces of all names that a function
 * goes by, since each piece between '*' is a pattern that matches.
 */
struct filter_trial {
	unsigned int seed;
	size_t pieces;
	size_t told; /* of which the filter had something to tell by */
	size_t missed;
};

static void try_piece(struct filter_trial *trial, const char *symbol, const char *piece)
{
	struct name_filter filter;

	name_filter_init(&filter, piece);
	trial->pieces++;
	trial->told += filter.words.count != 0;
	if (name_filter_passes(&filter, symbol))
		return;
	if (trial->missed++ < 10)
		printf("%s is missed by *%s*\n", symbol, piece);
}

/* The whole form without its blanks, and @count pieces of it. */
static void try_form(struct filter_trial *trial, const char *symbol, const char *form, int count)
{
	char *plain = calloc(1, strlen(form) + 1), *piece = calloc(1, strlen(form) + 1);
	size_t length = 0;

	for (const char *c = form; plain && *c; c++) {
		if (*c != ' ')
			plain[length++] = *c;
	}
	if (plain && piece && length)
		try_piece(trial, symbol, plain);
	for (int i = 0; plain && piece && length && i < count; i++) {
		size_t begin = (size_t)rand_r(&trial->seed) % length;
		size_t room = length - begin, most = i % 2 ? 24 : room;
		size_t size = 1 + (size_t)rand_r(&trial->seed) % (room < most ? room : most);

		memcpy(piece, plain + begin, size);
		piece[size] = '\0';
		try_piece(trial, symbol, piece);
	}
	free(plain);
	free(piece);
}

static void try_symbol(struct filter_trial *trial, const char *symbol, int count)
{
	_cleanup_(native_name_deinit) struct native_name name = { 0 };

	if (native_name_read(&name, symbol) == 0) {
		for (size_t i = 0; i < name.count; i++)
			try_form(trial, symbol, name.forms[i], count);
	}
}

static int find_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (strstr(info->dlpi_name, "/libc.so"))
		snprintf(ctx, PATH_BYTES, "%s", info->dlpi_name);
	return 0;
}

struct library {
	int fd;
	struct span bytes;
};

/* Beside the C library there is that of C++, which compilers need themselves. */
static struct library open_library(void)
{
	struct library library;
	char path[PATH_BYTES] = "", *slash;
	struct stat st = { 0 };
	void *bytes;

	dl_iterate_phdr(find_library, path);
	slash = strrchr(path, '/');
	assert_non_null(slash);
	snprintf(slash, sizeof(path) - (size_t)(slash - path), "/libstdc++.so.6");
	library.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (library.fd < 0 || fstat(library.fd, &st) != 0) {
		print_message("skipped: there is no %s\n", path);
		skip();
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, library.fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	library.bytes = (struct span){ bytes, (size_t)st.st_size };
	return library;
}

static void close_library(const struct library *library)
{
	munmap((void *)(uintptr_t)library->bytes.start, library->bytes.size);
	close(library->fd);
}

UNIT_TEST(whatever_a_name_has_in_it)
{
	struct filter_trial trial = { .seed = 1 };
	_cleanup_(close_library) const struct library library = open_library();
	struct native_symbols *symbols;

	assert_int_equal(native_symbols_create(&symbols, library.bytes, 0, NULL), 0);
	assert_true(native_symbols_count(symbols) > 1000);
	for (size_t i = 0; i < native_symbols_count(symbols); i += EVERY)
		try_symbol(&trial, native_symbols_get(symbols, i)->name, PIECES);
	printf("%zu pieces, %zu with words\n", trial.pieces, trial.told);
	assert_true(trial.told > 1000);
	assert_int_equal(trial.missed, 0);
	native_symbols_destroy(symbols);
}

/* Of @table, for a pattern: each name that passes is marked, wherever it begins, and few others. */
static void try_table(const char *text, const struct name_table *table, size_t marked_max)
{
	struct name_filter filter;
	struct pattern *pattern;
	const char *names = (const char *)table->names.start;
	size_t passed = 0, marked = 0, missed = 0;
	uint8_t *marks;

	assert_int_equal(pattern_create(&pattern, text, NULL), 0);
	name_filter_init(&filter, pattern_native_literals(pattern));
	marks = name_filter_scan(&filter, table);
	assert_non_null(marks);
	for (size_t i = 0; i < table->names.size; i++) {
		bool passes = names[i] && name_filter_passes(&filter, names + i);

		passed += passes;
		marked += name_filter_marked(marks, i);
		missed += passes && !name_filter_marked(marks, i);
	}
	printf("%s: %zu of %zu pass, %zu marked\n", text, passed, table->names.size, marked);
	assert_int_equal(missed, 0);
	assert_true(passed > 0);
	assert_in_range(marked, passed, marked_max);
	free(marks);
	pattern_destroy(pattern);
}

/* The names of a library, read and mapped, and some that begin in each other. */
UNIT_TEST(tables_of_names)
{
	static const char few[] = "\0first_RNvC4some4name\0of a blank\0shop::till\0"
				  "_ZNU3AS14tillE\0_ZN4shop4tillEv\0other";
	static const char *const patterns[] = {
		"x!*push_back*",  "x!*basic_filebuf*", "x!*get_facet*",
		"x!*_M_extract*", "x!*locale*",	       "x!*seekoff*traits*",
	};
	_cleanup_(close_library) const struct library library = open_library();
	struct symbol_table symbols;
	struct name_table table = { .fd = -1 };
	struct name_filter filter = { .pairs = { { 0 } } };

	assert_true(symbol_table_find(&symbols, library.bytes, SHT_DYNSYM));
	table.names = symbols.names;
	table.offset = (uint64_t)(symbols.names.start - library.bytes.start);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		table.fd = -1;
		try_table(patterns[i], &table, table.names.size);
		table.fd = library.fd;
		try_table(patterns[i], &table, table.names.size);
	}
	try_table("x!*push_back*", &table, table.names.size / 20);
	/* A descriptor that cannot be read is as good as none. */
	table.fd = 1 << 20;
	try_table("x!*push_back*", &table, table.names.size / 20);
	table = (struct name_table){ { (const uint8_t *)few, sizeof(few) }, -1, 0 };
	try_table("x!shop::till", &table, table.names.size);
	/* Where there is nothing to tell by all may pass. */
	assert_null(name_filter_scan(&filter, &table));
}

UNIT_MAIN(NULL, NULL)
