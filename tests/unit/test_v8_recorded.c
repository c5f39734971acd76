// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames of real Node processes, named from what was recorded of their memory: as they were named
 * when V8's own stack was held against that (tests/golden/v8_recordings.py). And that nothing is
 * made up where it is missing.
 */
#include "base/cleanup.h"
#include "tests/unit/unit.h"
#include "tests/unit/v8_recording.h"

enum { NAMES_MAX_BYTES = 1 << 14 };

static void read_names(const char *name, char names[NAMES_MAX_BYTES])
{
	char path[256];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/%s.names", name);
	file = fopen(path, "r");
	assert_non_null(file);
	size = fread(names, 1, NAMES_MAX_BYTES - 1, file);
	names[size] = '\0';
	fclose(file);
}

/* Call @fn for each recording. */
static void each_recording(void (*fn)(struct recording *recording, const char *names))
{
	char names[NAMES_MAX_BYTES];

	for (size_t i = 0; i < RECORDINGS; i++) {
		_cleanup_(recording_deinit) struct recording recording;

		read_names(recording_names[i], names);
		recording_load(&recording, recording_names[i]);
		fn(&recording, names);
	}
}

static void assert_names(struct recording *recording, const char *names)
{
	_cleanup_(text_deinit) struct text told = { 0 };

	recording_tell(recording, &told);
	assert_string_equal(text_chars(&told), names);
}

UNIT_TEST(test_names)
{
	each_recording(assert_names);
}

/* The fields of a line behind the first @field, with the tab in front. */
static const char *fields_behind(const char *line, unsigned int field)
{
	line = strchr(line, '\t');
	while (--field > 0)
		line = strchr(line + 1, '\t');
	return line;
}

/*
 * Each line is one of @names, or says that something is not known; of types and receivers, which
 * are the first part of a name, less may be said.
 */
static void assert_marked(const struct text *told, const char *names)
{
	char line[1024];

	for (const char *at = text_chars(told); *at; at += strlen(line)) {
		size_t length = (size_t)(strchr(at, '\n') - at) + 1;

		assert_true(length < sizeof(line));
		memcpy(line, at, length);
		line[length] = '\0';
		if (!strstr(names, fields_behind(line, 4)) && !strstr(line, "\t-\t") &&
		    !strstr(line, "\tno position\t"))
			fail_msg("%s", line);
	}
}

/* Each page in turn is not there: what it has held is missing, and is said to be. */
static void lose_pages(struct recording *recording, const char *names)
{
	bool any = false;

	for (size_t i = 0; i < recording->page_count; i++) {
		_cleanup_(text_deinit) struct text told = { 0 };

		recording->pages[i].gone = true;
		recording_tell(recording, &told);
		assert_marked(&told, names);
		any |= strstr(text_chars(&told), "unknown\t") != NULL;
		recording->pages[i].gone = false;
	}
	assert_true(any);
}

UNIT_TEST(test_lost_pages)
{
	each_recording(lose_pages);
}

UNIT_MAIN(NULL, NULL)
