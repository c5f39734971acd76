// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "method/source_name.h"
#include "tests/unit/unit.h"

UNIT_TEST(made_by_the_compiler)
{
	static const struct {
		const char *type, *method, *source_type, *source_method;
		enum source_relation relation;
	} rows[] = {
		{ "A.B+<Work>d__10", "MoveNext", "A.B", "Work", SOURCE_STATE_MACHINE },
		{ "A.B`1+<Work>d__1`2", "MoveNext", "A.B`1", "Work", SOURCE_STATE_MACHINE },
		{ "A.B+C+<I.Get<T>>d__0", "MoveNext", "A.B+C", "I.Get<T>", SOURCE_STATE_MACHINE },
		{ "A.B+<>c", "<Zoo>b__13_0", "A.B", "Zoo", SOURCE_LAMBDA },
		{ "A.B+<>c__DisplayClass13_0", "<Zoo>b__3", "A.B", "Zoo", SOURCE_LAMBDA },
		{ "A.B+<>c__DisplayClass1_0+<>c__DisplayClass1_1", "<Zoo>b__3", "A.B", "Zoo",
		  SOURCE_LAMBDA },
		{ "A.B", "<Zoo>g__Loc|12_0", "A.B", "Zoo", SOURCE_LOCAL_FUNCTION },
		{ "A.B", "<.ctor>b__0_0", "A.B", ".ctor", SOURCE_LAMBDA },
		{ "A.B", "<<Zoo>g__Loc|12_0>b__1", "A.B", "Zoo", SOURCE_LOCAL_FUNCTION },
		{ "A.B+<>c+<<Zoo>b__0_0>d", "MoveNext", "A.B", "Zoo", SOURCE_LAMBDA },
		{ "A.B+<<Zoo>g__Loc|3_0>d`1", "MoveNext", "A.B", "Zoo", SOURCE_LOCAL_FUNCTION },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct source_name source;

		if (!source_name_parse(rows[i].type, rows[i].method, &source))
			fail_msg("%s::%s is not recognised", rows[i].type, rows[i].method);
		assert_int_equal(source.relation, rows[i].relation);
		assert_int_equal(source.type_length, strlen(rows[i].source_type));
		assert_memory_equal(rows[i].type, rows[i].source_type, source.type_length);
		assert_int_equal(source.name_length, strlen(rows[i].source_method));
		assert_memory_equal(source.name, rows[i].source_method, source.name_length);
	}
}

UNIT_TEST(written_by_people)
{
	static const char *const rows[][2] = {
		{ "A.B", "Work" },
		{ "A.B", "MoveNext" },
		{ "A.B+C", "MoveNext" },
		{ "A.B+<>c", ".ctor" },
		{ "A.B+<Work>d__1", ".ctor" },
		{ "A.B", "<Main>$" },
		{ "A.B", "<x" },
		{ "A.B", "<>b__0" },
		{ "A.B+<>d__1", "MoveNext" },
		{ "A.B", "<Clone>$" },
		{ "", "" },
	};
	struct source_name source;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (source_name_parse(rows[i][0], rows[i][1], &source))
			fail_msg("%s::%s", rows[i][0], rows[i][1]);
	}
}

UNIT_MAIN(NULL, NULL)
