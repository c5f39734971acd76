// SPDX-License-Identifier: GPL-2.0-or-later
/* mapfile.h and perf_map.h: maps of the zoo, tied to its image, also where that is unreadable. */
#include "tests/unit/golden.h"
#include "tests/unit/mapped.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/dotnet/mapfile.h"
#include "runtime/dotnet/perf_map.h"
#include "method/method_name.h"

/* A file that is gone with its descriptor. */
static int file_of(const char *text)
{
	char path[] = "/tmp/place-probe-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

struct zoo {
	struct golden image;
	struct dotnet_images images;
	char *map;
};

static struct zoo open_zoo(bool with_metadata)
{
	struct zoo zoo = { .image = golden_read("zoo-r2r.dll") };
	struct golden map = golden_read("zoo-r2r.map");
	struct dotnet_source source = { .name = "zoo.dll", .is_mapped = mapped_everywhere };

	if (!with_metadata) {
		uint8_t *magic = memmem(zoo.image.bytes, zoo.image.size, "BSJB", 4);

		assert_non_null(magic);
		memset(magic, 0, 4);
	}
	source.bytes = golden_span(&zoo.image);
	assert_int_equal(dotnet_images_add(&zoo.images, &source, NULL), 0);
	dotnet_images_link_from(&zoo.images, 0);
	assert_int_equal(zoo.images.count, 1);
	zoo.map = strndup((const char *)map.bytes, map.size);
	golden_free(&map);
	return zoo;
}

static void close_zoo(struct zoo *zoo)
{
	dotnet_images_deinit(&zoo->images);
	golden_free(&zoo->image);
	free(zoo->map);
}

struct seen {
	size_t count;
	size_t with_body;
	size_t agree;
	bool has_over;
};

static int see(const struct mapfile_method *method, void *ctx)
{
	struct seen *seen = ctx;

	seen->count++;
	seen->with_body += method->body != NULL;
	seen->agree += method->agrees;
	if (strcmp(text_chars(&method->name->name), "Over") == 0 &&
	    strcmp(text_chars(&method->name->params), "int32,int64") == 0)
		seen->has_over = true;
	return 0;
}

UNIT_TEST(a_map_of_its_image)
{
	struct zoo zoo = open_zoo(true);
	struct error err = { .text = "" };
	struct seen seen = { 0 };
	struct mapfile file;

	assert_int_equal(mapfile_init(&file, file_of(zoo.map), "dir/zoo.ni.r2rmap", &zoo.images,
				      NULL, NULL, &err),
			 1);
	assert_int_equal(file.misplaced, 0);
	assert_int_equal(file.disagree, 0);
	assert_int_equal(mapfile_each(&file, see, &seen, &err), 0);
	/* The second rows of methods with cold parts are left out. */
	assert_int_equal(seen.count, 123);
	assert_int_equal(seen.with_body, seen.count);
	assert_int_equal(seen.agree, seen.count);
	assert_true(seen.has_over);
	mapfile_deinit(&file);
	close_zoo(&zoo);
}

/* Without metadata there is nothing but the map to name the code. */
UNIT_TEST(an_image_without_readable_metadata)
{
	struct zoo zoo = open_zoo(false);
	struct error err = { .text = "" };
	struct seen seen = { 0 };
	struct mapfile file;

	assert_null(zoo.images.images[0]->metadata);
	assert_int_equal(
		mapfile_init(&file, file_of(zoo.map), "zoo.map", &zoo.images, NULL, NULL, &err), 1);
	assert_int_equal(mapfile_each(&file, see, &seen, &err), 0);
	assert_true(seen.count >= 123);
	assert_int_equal(seen.with_body, 0);
	assert_true(seen.has_over);
	mapfile_deinit(&file);
	close_zoo(&zoo);
}

static int init_fails(const struct zoo *zoo, const char *text, const char *name, const char *said)
{
	struct error err = { .text = "" };
	struct mapfile file;
	int result = mapfile_init(&file, file_of(text), name, &zoo->images, NULL, NULL, &err);

	if (result < 0 && !strstr(err.text, said))
		fail_msg("%s: %s", name, err.text);
	return result;
}

/* Rows with other sizes: the same names at functions that are not theirs. */
static char *shifted(const char *map)
{
	char *copy = strdup(map), *out = copy;

	/* Each row keeps its name and takes the size of another: add one to the last digit. */
	for (char *line = copy; *line; line = strchr(line, '\n') + 1) {
		char *size = strchr(line, ' ') + 1;
		char *end = strchr(size, ' ');

		if (line[0] != 'F')
			end[-1] = end[-1] == '9' ? '0' : (char)(end[-1] == 'F' ? '0' : end[-1] + 1);
		if (!strchr(line, '\n'))
			break;
	}
	return out;
}

UNIT_TEST(maps_that_are_not_its_own)
{
	struct zoo zoo = open_zoo(true), blind = open_zoo(false);
	char *other_signature = strdup(zoo.map), *other_sizes = shifted(zoo.map);
	char *windows = strdup(zoo.map);

	assert_int_equal(init_fails(&zoo, zoo.map, "other.map", ""), 0);
	other_signature[12] = other_signature[12] == '0' ? '1' : '0';
	assert_int_equal(init_fails(&zoo, other_signature, "zoo.ni.r2rmap", "signatures differ"),
			 -ESTALE);
	strstr(windows, "FFFFFFFD 00 2")[12] = '1';
	assert_int_equal(init_fails(&zoo, windows, "zoo.ni.r2rmap", "another system"), -ESTALE);
	assert_int_equal(init_fails(&zoo, other_sizes, "zoo.ni.r2rmap", "another build"), -ESTALE);
	assert_int_equal(init_fails(&blind, other_sizes, "zoo.ni.r2rmap", "another build"),
			 -ESTALE);
	assert_int_equal(init_fails(&zoo, zoo.map,
				    "zoo.ni.{00000000-0000-0000-0000-000000000000}.map",
				    "version ids differ"),
			 -ESTALE);
	assert_int_equal(init_fails(&zoo, "0x7f3830483c90 5a int32 [app] A.B::C()[QuickJitted]\n",
				    "zoo.map", "map of a process"),
			 -EINVAL);
	free(other_signature);
	free(other_sizes);
	free(windows);
	close_zoo(&zoo);
	close_zoo(&blind);
}

UNIT_TEST(names_of_maps)
{
	assert_true(mapfile_is_named_so("app.map"));
	assert_true(mapfile_is_named_so("app.ni.{8b5bc209-7ef4-428f-a28c-60fda6632e1a}.map"));
	assert_true(mapfile_is_named_so("app.ni.r2rmap"));
	assert_true(mapfile_is_named_so("app.map.csv"));
	assert_false(mapfile_is_named_so("app.nodestats.csv"));
	assert_false(mapfile_is_named_so(".map"));
	assert_false(mapfile_is_named_so("README"));
}

UNIT_TEST(rows_of_a_perf_map)
{
	const char *text = "0x1000 20 int32 [app] A.B::Old(int32)[QuickJitted]\n"
			   "0x3000 10 stub PreStub<X>\n"
			   "0x1000 10 void [app] A.B::New()[OptimizedTier1]\n"
			   "0x2000 40 void [app] A.B::Kept()[OptimizedTier1]\n"
			   "0x2020 10 void [app] A.B::Inside()[OSR]\n"
			   "0x5000 10 void [app] A.B::Cut";
	struct perf_map *map = perf_map_create(file_of(text));
	const struct perf_map_row *row;

	assert_non_null(map);
	assert_int_equal(perf_map_count(map), 3);
	row = perf_map_find(map, (struct address){ 0x100f });
	assert_string_equal(row->name, "A.B::New()");
	assert_int_equal(row->tier, MAPPARSE_TIER_TIER1);
	/* What a later row has taken the place of is gone, not half there. */
	assert_null(perf_map_find(map, (struct address){ 0x1010 }));
	assert_null(perf_map_find(map, (struct address){ 0x0fff }));
	row = perf_map_find(map, (struct address){ 0x2025 });
	assert_string_equal(row->name, "A.B::Inside()");
	assert_int_equal(perf_map_find(map, (struct address){ 0x3000 })->kind, MAPPARSE_KIND_STUB);
	/* A row without its newline is still being written. */
	assert_null(perf_map_find(map, (struct address){ 0x5000 }));
	assert_false(perf_map_refresh(map));
	perf_map_destroy(map);
}

UNIT_TEST(a_perf_map_grows)
{
	int fd = file_of(
		"0x1000 20 void [app] A.B::One()[QuickJitted]\n0x2000 20 void [app] A.B::T");
	struct perf_map *map = perf_map_create(dup(fd));

	assert_int_equal(perf_map_count(map), 1);
	assert_int_equal(write(fd, "wo()[OSR]\n", 10), 10);
	assert_true(perf_map_refresh(map));
	assert_int_equal(perf_map_count(map), 2);
	assert_string_equal(perf_map_row(map, 1)->name, "A.B::Two()");
	perf_map_destroy(map);
	close(fd);
}

UNIT_MAIN(NULL, NULL)
