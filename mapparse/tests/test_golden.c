// SPDX-License-Identifier: GPL-2.0-or-later
/* Every sample of every format: the rows are those of the golden file, in any chunking. */
#include "collect.h"

#define GOLDEN "mapparse/tests/golden/"

static const char *const samples[] = {
	"app.map",
	"app.map.csv",
	"app.ni.r2rmap",
	"app.ni.{8b5bc209-7ef4-428f-a28c-60fda6632e1a}.map",
	"crossgen-2018.map",
	"perf-10-PerfMapEnabled1.map",
	"perf-8.0.0-with-NULs.map",
	"perf-8.map",
	"perf-9.map",
	"perf-node20.map",
	"perfinfo-8.map",
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static char *sample_bytes(unsigned int i, size_t *length)
{
	char path[256];

	snprintf(path, sizeof(path), GOLDEN "%s", samples[i]);
	return read_whole(path, length);
}

/* A sample's rows, read in pieces of @chunk bytes, as collect() does. */
static struct collected collect_sample(unsigned int i, size_t chunk)
{
	size_t length;
	char *bytes = sample_bytes(i, &length);
	struct collected c = collect(bytes, length, chunk);

	free(bytes);
	return c;
}

UNIT_TEST(test_golden)
{
	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct collected c = collect_sample(i, 0);
		size_t wanted_length;
		char path[256], *wanted;

		assert_int_equal(c.result, 0);
		snprintf(path, sizeof(path), GOLDEN "%s.rows", samples[i]);
		if (getenv("UPDATE")) {
			FILE *file = fopen(path, "we");

			assert_non_null(file);
			fputs(c.text, file);
			fclose(file);
		}
		wanted = read_whole(path, &wanted_length);
		assert_int_equal(strlen(c.text), wanted_length);
		assert_memory_equal(c.text, wanted, wanted_length);
		free(wanted);
		free(c.text);
	}
}

UNIT_TEST(test_chunks)
{
	static const size_t chunks[] = { 1, 7, 4096, 65536, 65537 };

	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct collected whole = collect_sample(i, 0);

		for (unsigned int j = 0; j < sizeof(chunks) / sizeof(chunks[0]); j++) {
			struct collected parts = collect_sample(i, chunks[j]);

			assert_string_equal(parts.text, whole.text);
			assert_memory_equal(&parts.counts, &whole.counts, sizeof(whole.counts));
			free(parts.text);
		}
		free(whole.text);
	}
}

UNIT_TEST(test_formats)
{
	static const enum mapparse_format formats[SAMPLES] = {
		MAPPARSE_FORMAT_CROSSGEN2_MAP, MAPPARSE_FORMAT_CROSSGEN2_CSV,
		MAPPARSE_FORMAT_CROSSGEN2,     MAPPARSE_FORMAT_CROSSGEN2,
		MAPPARSE_FORMAT_CROSSGEN,      MAPPARSE_FORMAT_PERF_MAP,
		MAPPARSE_FORMAT_PERF_MAP,      MAPPARSE_FORMAT_PERF_MAP,
		MAPPARSE_FORMAT_PERF_MAP,      MAPPARSE_FORMAT_PERF_MAP,
		MAPPARSE_FORMAT_PERFINFO,
	};

	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct collected c = collect_sample(i, 0);

		assert_int_equal(c.header.format, formats[i]);
		free(c.text);
	}
}

UNIT_TEST(test_headers)
{
	static const uint8_t signature[16] = { 0x3b, 0xa0, 0x2f, 0xad, 0x69, 0xe9, 0xde, 0x75,
					       0xcb, 0xad, 0x94, 0x3e, 0x1b, 0xb2, 0x15, 0xc3 };
	struct collected c = collect_sample(2, 0);

	assert_true(c.header.has_signature);
	assert_memory_equal(c.header.signature, signature, sizeof(signature));
	assert_int_equal(c.header.perfmap_version, 1);
	assert_int_equal(c.header.os, 2);
	assert_int_equal(c.header.arch, 3);
	assert_int_equal(c.header.abi, 1);
	free(c.text);

	c = collect_sample(0, 0);
	assert_string_equal(c.header.assembly, "app");
	assert_int_equal(c.header.section_count, 3);
	assert_string_equal(c.header.sections[0].name, ".text");
	assert_int_equal(c.header.sections[0].rva, 0x10200);
	assert_int_equal(c.header.sections[0].file_offset, 0x200);
	assert_int_equal(c.header.sections[0].length, 0x4cd8);
	assert_string_equal(c.header.sections[2].name, ".reloc");
	free(c.text);
}

/* The five descriptions of one image: same RVAs, same sizes, same identities. */
struct table {
	unsigned int count;
	struct {
		uint64_t rva, size;
		char *canonical, *mangled;
	} rows[128];
};

static int table_row(void *user, const struct mapparse_row *row)
{
	struct table *t = user;

	if (row->kind != MAPPARSE_KIND_METHOD)
		return 0;
	assert_non_null(row->name);
	assert_true(t->count < 128);
	t->rows[t->count].rva = row->address;
	t->rows[t->count].size = row->size;
	t->rows[t->count].canonical =
		strndup(row->name->canonical.start, row->name->canonical.length);
	/* A compiler's own spelling, or the one that our identity gives. */
	t->rows[t->count].mangled = row->section.length ?
					    strndup(row->raw_name.start, row->raw_name.length) :
					    mapparse_name_mangle(row->name, "app");
	t->count++;
	return 0;
}

static void table_read(struct table *t, unsigned int sample)
{
	size_t length;
	char *bytes = sample_bytes(sample, &length);
	struct mapparse_reader *r =
		mapparse_reader_create(&(struct mapparse_options){ .row = table_row, .user = t });

	t->count = 0;
	assert_int_equal(mapparse_reader_push(r, bytes, length), 0);
	assert_int_equal(mapparse_reader_finish(r), 0);
	mapparse_reader_destroy(r);
	free(bytes);
}

static void table_deinit(struct table *t)
{
	for (unsigned int i = 0; i < t->count; i++) {
		free(t->rows[i].canonical);
		free(t->rows[i].mangled);
	}
}

/* The runtime's names have !0 where the compiler's have the argument. */
static bool open_generic(const char *canonical)
{
	return strchr(canonical, '!') != NULL;
}

static void assert_same_key(const char *a, const char *b)
{
	char key_a[256], key_b[256];
	size_t length_a = mapparse_mangled_key(a, strlen(a), key_a);
	size_t length_b = mapparse_mangled_key(b, strlen(b), key_b);

	assert_true(length_a > 0 && length_a == length_b);
	assert_memory_equal(key_a, key_b, length_a);
}

UNIT_TEST(test_same_image)
{
	static struct table reference, other;

	table_read(&reference, 2);
	assert_int_equal(reference.count, 66);
	for (unsigned int sample = 0; sample < 5; sample++) {
		unsigned int same = 0, open = 0, overloads = 0;

		table_read(&other, sample);
		assert_int_equal(other.count, reference.count);
		for (unsigned int i = 0; i < other.count; i++) {
			const char *ours = reference.rows[i].mangled;
			const char *theirs = other.rows[i].mangled;

			assert_int_equal(other.rows[i].rva, reference.rows[i].rva);
			assert_int_equal(other.rows[i].size, reference.rows[i].size);
			if (sample >= 2) {
				same += strcmp(other.rows[i].canonical,
					       reference.rows[i].canonical) == 0;
				open += open_generic(other.rows[i].canonical);
				continue;
			}
			assert_same_key(ours, theirs);
			/* A mangled name has no more than _0, _1 of overloads and <...>. */
			assert_memory_equal(ours, theirs, strlen(ours));
			overloads += strcmp(ours, theirs) != 0;
		}
		if (sample < 2)
			assert_int_equal(overloads, 8); /* two overloads, six instantiations */
		else
			assert_int_equal(same + open, other.count);
		table_deinit(&other);
	}
	table_deinit(&reference);
}

UNIT_MAIN(NULL, NULL)
