// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime.h, what is asked of all runtimes together: that they are made, how much of the code is
 * known, what there is to log, map files, and whether one has come. Of two toys one offers all of
 * it, one nothing.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
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

UNIT_TEST(those_that_offer_it_are_asked)
{
	struct toy silent = { .runtime = { &knows_nothing } };
	struct toy first = { .runtime = { &knows_all } }, second = first;
	const struct runtimes none = { .list = { &silent.runtime }, .count = 1 };
	const struct runtimes all = {
		.list = { &silent.runtime, &first.runtime, &second.runtime },
		.count = 3,
	};
	struct runtime_reach known;

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

UNIT_TEST(lines_for_the_log)
{
	struct toy silent = { .runtime = { &knows_nothing } };
	struct toy toy = { .runtime = { &knows_all } };
	const struct runtimes all = { .list = { &silent.runtime, &toy.runtime }, .count = 2 };
	struct text lines = { 0 };
	struct runtime_log log = { .line = add_line, .ctx = &lines };
	struct error err = { .text = "" };

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

static unsigned int living;

static const struct runtime_ops reader;

static int make(struct runtime **runtime, struct target *target, const struct runtimes *others,
		struct error *err)
{
	struct toy *toy = calloc(1, sizeof(*toy));

	(void)target;
	(void)err;
	toy->runtime.ops = &reader;
	toy->come = others->count == 2;
	*runtime = &toy->runtime;
	living++;
	return 0;
}

static int make_none(struct runtime **runtime, struct target *target, const struct runtimes *others,
		     struct error *err)
{
	(void)runtime;
	(void)target;
	(void)others;
	return error_set(err, -ENOMEM, "no memory for a toy");
}

static void destroy(struct runtime *runtime)
{
	free(runtime);
	living--;
}

static int read_toy(struct runtime *runtime, struct error *err)
{
	struct toy *toy = (struct toy *)runtime;

	toy->unreadable = 1;
	return toy->come ? error_set(err, -EBADMSG, "a toy that is broken") : 0;
}

static const struct runtime_ops reader = {
	.create = make,
	.destroy = destroy,
	.read = read_toy,
	.is_present = has_come,
};

static const struct runtime_ops nobody = { .create = make_none };

UNIT_TEST(one_of_each_is_made_and_read_in_order)
{
	const struct runtime_ops *const offered[] = { &reader, &reader, &reader, &reader, NULL };
	struct runtimes all;
	struct error err = { .text = "" };

	assert_int_equal(runtimes_create(&all, offered, NULL, &err), 0);
	assert_int_equal(all.count, 4);
	assert_int_equal(living, 4);
	/* The third one fails, and the fourth is not asked. */
	assert_int_equal(runtimes_read(&all, &err), -EBADMSG);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(((struct toy *)all.list[i])->unreadable, i < 3);
	assert_true(runtimes_are_present(&all));
	((struct toy *)all.list[2])->come = false;
	assert_false(runtimes_are_present(&all));
	runtimes_destroy(&all);
	assert_int_equal(living, 0);
}

UNIT_TEST(what_was_made_before_one_fails_is_destroyed)
{
	const struct runtime_ops *const offered[] = { &reader, &nobody, &reader, NULL };
	struct runtimes all;
	struct error err = { .text = "" };

	assert_int_equal(runtimes_create(&all, offered, NULL, &err), -ENOMEM);
	assert_string_equal(err.text, "no memory for a toy");
	assert_int_equal(living, 1);
	runtimes_destroy(&all);
	assert_int_equal(living, 0);
}

UNIT_MAIN(NULL, NULL)
