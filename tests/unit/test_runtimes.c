// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime.h, what is asked of all runtimes together: how much of the code is known, what there is
 * to log, map files, and whether one has come. Of two toys one offers all of it, one nothing.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/runtime.h"

struct toy {
	struct runtime runtime;
	bool come;
	size_t unreadable;
	char map[32];
	bool inliners;
};

static bool has_come(const struct runtime *runtime)
{
	return ((const struct toy *)runtime)->come;
}

static struct runtime_reach reach(const struct runtime *runtime)
{
	return (struct runtime_reach){
		.images = 2,
		.compiled = true,
		.unreadable = ((const struct toy *)runtime)->unreadable,
	};
}

static void log_toy(const struct runtime *runtime, enum runtime_topic topic,
		    const struct runtime_log *log)
{
	(void)runtime;
	if (topic == RUNTIME_LOG_SUMMARY)
		log->line(log->ctx, log->verbose ? "a toy, in full" : "a toy");
}

static int use_maps(struct runtime *runtime, const char *path, const struct runtime_log *log,
		    struct error *err)
{
	struct toy *toy = (struct toy *)runtime;

	if (*path == '!')
		return error_set(err, -EINVAL, "%s: no map", path);
	snprintf(toy->map, sizeof(toy->map), "%s", path);
	log->line(log->ctx, "row 1 is bad");
	return 0;
}

static int read_inliners(struct runtime *runtime, struct error *err)
{
	(void)err;
	((struct toy *)runtime)->inliners = true;
	return 0;
}

static const struct runtime_ops knows_all = {
	.has_come = has_come,
	.reach = reach,
	.log = log_toy,
	.use_maps = use_maps,
	.read_inliners = read_inliners,
};

static const struct runtime_ops knows_nothing = { .id = RUNTIME_NATIVE };

static void add_line(void *ctx, const char *line)
{
	text_add(ctx, line);
	text_add_char(ctx, ';');
}

static void those_that_offer_it_are_asked(void **state)
{
	struct toy silent = { .runtime = { &knows_nothing } };
	struct toy first = { .runtime = { &knows_all } }, second = first;
	const struct runtimes none = { .list = { &silent.runtime }, .count = 1 };
	const struct runtimes all = {
		.list = { &silent.runtime, &first.runtime, &second.runtime },
		.count = 3,
	};
	struct runtime_reach known;

	(void)state;
	known = runtimes_reach(&none);
	assert_false(known.compiled || known.images || known.unreadable);
	assert_false(runtimes_have_come(&none));
	first.unreadable = 3;
	second.unreadable = 1;
	known = runtimes_reach(&all);
	assert_true(known.compiled);
	assert_int_equal(known.images, 4);
	assert_int_equal(known.unreadable, 4);
	assert_false(runtimes_have_come(&all));
	second.come = true;
	assert_true(runtimes_have_come(&all));
	assert_int_equal(runtimes_read_inliners(&all, NULL), 0);
	assert_true(first.inliners && second.inliners);
}

static void lines_for_the_log(void **state)
{
	struct toy silent = { .runtime = { &knows_nothing } };
	struct toy toy = { .runtime = { &knows_all } };
	const struct runtimes all = { .list = { &silent.runtime, &toy.runtime }, .count = 2 };
	struct text lines = { 0 };
	struct runtime_log log = { .line = add_line, .ctx = &lines };
	struct error err = { .text = "" };

	(void)state;
	runtimes_log(&all, RUNTIME_LOG_UNREADABLE, &log);
	assert_string_equal(text_chars(&lines), "");
	runtimes_log(&all, RUNTIME_LOG_SUMMARY, &log);
	log.verbose = true;
	runtimes_log(&all, RUNTIME_LOG_SUMMARY, &log);
	assert_string_equal(text_chars(&lines), "a toy;a toy, in full;");
	text_clear(&lines);
	assert_int_equal(runtimes_use_maps(&all, "toy.map", &log, &err), 0);
	assert_string_equal(toy.map, "toy.map");
	assert_string_equal(text_chars(&lines), "row 1 is bad;");
	assert_int_equal(runtimes_use_maps(&all, "!", &log, &err), -EINVAL);
	assert_string_equal(err.text, "!: no map");
	text_deinit(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_offer_it_are_asked),
		cmocka_unit_test(lines_for_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
