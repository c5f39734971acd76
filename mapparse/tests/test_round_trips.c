// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name that is rendered in any spelling is parsed to the same name: names made at random, and
 * those of the samples.
 */
#include "collect.h"

/* Names made at random, of everything that the grammar has. */
struct maker {
	char text[8192];
	size_t length;
	unsigned int seed;
};

static unsigned int pick(struct maker *m, unsigned int n)
{
	m->seed = m->seed * 1103515245u + 12345u;
	return (m->seed >> 16) % n;
}

static void add(struct maker *m, const char *s)
{
	m->length += (size_t)snprintf(m->text + m->length, sizeof(m->text) - m->length, "%s", s);
}

#define PICK(m, ...) pick_word(m, (const char *const[]){ __VA_ARGS__, NULL })

static void pick_word(struct maker *m, const char *const *words)
{
	unsigned int n = 0;

	while (words[n])
		n++;
	add(m, words[pick(m, n)]);
}

static void add_type(struct maker *m, bool as_argument, int depth);

static unsigned int add_name(struct maker *m)
{
	unsigned int arity = 0;

	PICK(m, "", "A.", "System.", "Demo.App.");
	PICK(m, "List", "Box", "T", "Größe", "<>f__AnonymousType0", "<Module>");
	for (;;) {
		if (pick(m, 4) == 0) {
			unsigned int own = 1 + pick(m, 2);

			add(m, own == 1 ? "`1" : "`2");
			arity += own;
		}
		if (pick(m, 3))
			return arity;
		PICK(m, "+Inner", "+<>c", "+<Work>d__1", "+<<Main>$>d__0", "+<>c__DisplayClass1_0");
	}
}

static void add_args(struct maker *m, unsigned int arity, int depth)
{
	add(m, "[");
	for (unsigned int i = 0; i < arity; i++) {
		if (i)
			add(m, ",");
		add_type(m, true, depth + 1);
	}
	add(m, "]");
}

static void add_type(struct maker *m, bool as_argument, int depth)
{
	unsigned int arity;

	switch (pick(m, 4)) {
	case 0:
		if (as_argument)
			PICK(m, "System.Int32", "System.String", "System.IntPtr", "System.__Canon");
		else
			PICK(m, "int32", "string", "nint", "float64", "object", "uint8");
		break;
	case 1:
		PICK(m, "!0", "!!1", "!!0", "System.Decimal");
		break;
	default:
		arity = add_name(m);
		if (arity && depth < 3)
			add_args(m, arity, depth);
	}
	while (pick(m, 3) == 0)
		PICK(m, "[]", "[,]", "[*]", "*");
	if (depth < 2 && pick(m, 12) == 0) {
		add(m, "(*)(");
		add_type(m, as_argument, depth + 1);
		add(m, ")");
	}
	if (!as_argument && depth == 0 && pick(m, 8) == 0)
		add(m, "&");
}

static void make_name(struct maker *m)
{
	unsigned int arity;

	m->length = 0;
	arity = add_name(m);
	if (arity && pick(m, 2))
		add_args(m, arity, 0);
	add(m, "::");
	PICK(m, ".ctor", "Add", "get_Item", "<F>g__L|1_0", "<Zoo>b__3",
	     "System.IDisposable.Dispose", "A.IDictionary<TKey,TValue>.get_Item", "op_Addition");
	add(m, "(");
	for (unsigned int i = 0, n = pick(m, 4); i < n; i++) {
		if (i)
			add(m, ",");
		add_type(m, false, 0);
	}
	add(m, ")");
}

static void assert_round_trip(const struct mapparse_name *name, enum mapparse_spelling spelling)
{
	struct mapparse_name again = { .chars = NULL };
	char *text = mapparse_name_render(name, spelling);

	assert_non_null(text);
	if (mapparse_name_parse(&again, spelling, text, strlen(text)) != 0 ||
	    !mapparse_name_equal(name, &again) || again.canonical.length != name->canonical.length)
		fail_msg("%.*s is rendered as %s, parsed as %.*s", (int)name->canonical.length,
			 name->canonical.start, text, (int)again.canonical.length,
			 again.canonical.start);
	if (name->has_return && spelling != MAPPARSE_SPELLING_ANY) {
		assert_int_equal(again.return_type.length, name->return_type.length);
		assert_memory_equal(again.return_type.start, name->return_type.start,
				    name->return_type.length);
	}
	if (spelling == MAPPARSE_SPELLING_IL && name->assembly.length)
		assert_int_equal(again.instance, name->instance);
	mapparse_name_deinit(&again);
	free(text);
}

static void assert_round_trips(const struct mapparse_name *name)
{
	for (int spelling = MAPPARSE_SPELLING_ANY; spelling <= MAPPARSE_SPELLING_CSHARP; spelling++)
		assert_round_trip(name, (enum mapparse_spelling)spelling);
}

UNIT_TEST(test_made_names)
{
	struct maker m = { .seed = 42 };
	struct mapparse_name n = { .chars = NULL };

	for (unsigned int i = 0; i < 20000; i++) {
		make_name(&m);
		assert_int_equal(mapparse_name_parse(&n, MAPPARSE_SPELLING_ANY, m.text, m.length),
				 0);
		if (n.ambiguous || n.canonical.length != m.length ||
		    memcmp(n.canonical.start, m.text, m.length) != 0)
			fail_msg("%s became %.*s", m.text, (int)n.canonical.length,
				 n.canonical.start);
		assert_round_trips(&n);
	}
	mapparse_name_deinit(&n);
}

static int check_row(void *user, const struct mapparse_row *row)
{
	if (row->name && row->name->has_params) {
		assert_false(row->name->ambiguous);
		assert_round_trips(row->name);
		++*(unsigned int *)user;
	}
	return 0;
}

UNIT_TEST(test_sample_names)
{
	static const char *const samples[] = {
		"mapparse/tests/golden/app.ni.r2rmap",
		"mapparse/tests/golden/crossgen-2018.map",
		"mapparse/tests/golden/perf-10-PerfMapEnabled1.map",
		"mapparse/tests/golden/perf-9.map",
		"mapparse/tests/golden/perf-8.map",
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		size_t length;
		unsigned int checked = 0;
		char *bytes = read_whole(samples[i], &length);
		struct mapparse_reader *r = mapparse_reader_create(
			&(struct mapparse_options){ .row = check_row, .user = &checked });

		assert_int_equal(mapparse_reader_push(r, bytes, length), 0);
		assert_int_equal(mapparse_reader_finish(r), 0);
		assert_true(checked > 60);
		mapparse_reader_destroy(r);
		free(bytes);
	}
}

UNIT_MAIN(NULL, NULL)
