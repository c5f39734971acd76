// SPDX-License-Identifier: GPL-2.0-or-later
/* Input that is damaged in every way that input gets damaged. */
#include "collect.h"

#include <errno.h>
#include <sys/resource.h>

#define GOOD1 "7f0000001000 10 int32 [app] A::One(int32)[QuickJitted]\n"
#define GOOD2 "7f0000002000 10 int32 [app] A::Two(int32)[OptimizedTier1]\n"
#define ONE \
	" at 7f0000001000+10 method tier0 A::One(int32) static returns=int32 of=app tier=QuickJitted\n"
#define TWO \
	" at 7f0000002000+10 method tier1 A::Two(int32) static returns=int32 of=app tier=OptimizedTier1\n"
#define FACTS                                                                          \
	"FFFFFFFF 00 3BA02FAD69E9DE75CBAD943E1BB215C3\nFFFFFFFE 00 1\nFFFFFFFD 00 2\n" \
	"FFFFFFFC 00 3\nFFFFFFFB 00 1\n"

static void assert_rows(const char *bytes, const char *wanted)
{
	char *text = collect_text(bytes);

	assert_string_equal(text, wanted);
	free(text);
}

static void assert_refused(const void *bytes, size_t length, int error, const char *why)
{
	struct collected c = collect(bytes, length, 0);

	assert_int_equal(c.result, error);
	if (!strstr(c.error, why))
		fail_msg("\"%s\" does not say \"%s\"", c.error, why);
	assert_string_equal(c.text, "");
	free(c.text);
}

UNIT_TEST(test_bad_rows)
{
	assert_rows(GOOD1 "garbage\n" GOOD2,
		    "1" ONE "2: the row does not begin with an address\n3" TWO);
	assert_rows(GOOD1 "7f00 zz name\n" GOOD2,
		    "1" ONE "2: there is no size behind the address\n3" TWO);
	assert_rows(GOOD1 "7f00\n" GOOD2,
		    "1" ONE "2: the row does not begin with an address\n3" TWO);
	assert_rows(GOOD1 "7f00 10\n" GOOD2, "1" ONE "2: there is no name\n3" TWO);
	assert_rows(GOOD1 "7f00 10 \n" GOOD2, "1" ONE "2: there is no name\n3" TWO);
	assert_rows(GOOD1 "7f00 1x name\n" GOOD2, "1" ONE "2: the size is no number\n3" TWO);
	assert_rows(GOOD1 "\n\n   \n" GOOD2, "1" ONE "5" TWO);
}

UNIT_TEST(test_numbers)
{
	assert_rows(GOOD1 "17f000000100000000 10 x\n" GOOD2,
		    "1" ONE "2: the address is past 2^64\n3" TWO);
	assert_rows(GOOD1 "0x00000000000000000000001 10 x(1)\n",
		    "1" ONE "2 at 1+10 other unknown x(1)\n");
	assert_rows(GOOD1 "7f00 fffffffffffffffff x\n", "1" ONE "2: the size is past 2^64\n");
	assert_rows(GOOD1 "ffffffffffffffff 10 x\n",
		    "1" ONE "2: address and size together are past 2^64\n");
	assert_rows(GOOD1 "7f00 0 void [app] A::Zero()\n" GOOD2, "1" ONE "2: the size is 0\n3" TWO);
	assert_rows(FACTS "00011050 03 A::B()\n100000000 03 A::C()\n",
		    "6 rva 11050+3 method r2r A::B() returns=void\n"
		    "7: the RVA is past 4 GiB, where no image has code\n");
}

UNIT_TEST(test_first_five)
{
	struct collected c = collect(GOOD1 "a\nb\nc\nd\ne\nf\ng\n" GOOD2,
				     strlen(GOOD1 "a\nb\nc\nd\ne\nf\ng\n" GOOD2), 0);
	unsigned int told = 0;

	for (const char *p = c.text; (p = strstr(p, ": the row")); p++)
		told++;
	assert_int_equal(told, 5);
	assert_int_equal(c.counts.bad, 7);
	assert_int_equal(c.counts.rows, 2);
	assert_int_equal(c.counts.lines, 9);
	free(c.text);
}

UNIT_TEST(test_line_ends)
{
	static const char nuls[] =
		GOOD1 "7f0000003000 8 void [app] A::Three()[QuickJitted]\0"
		      " 0x7f0000004000 8 void [app] A::Four()[QuickJitted]\0\n" GOOD2;
	struct collected c = collect(nuls, sizeof(nuls) - 1, 0);

	assert_string_equal(
		c.text,
		"1" ONE
		"2 at 7f0000003000+8 method tier0 A::Three() static returns=void of=app tier=QuickJitted\n"
		"2 at 7f0000004000+8 method tier0 A::Four() static returns=void of=app tier=QuickJitted\n"
		"3" TWO);
	free(c.text);
	assert_rows("7f0000001000 10 int32 [app] A::One(int32)[QuickJitted]\r\n"
		    "7f0000002000 10 int32 [app] A::Two(int32)[OptimizedTier1]\r\n",
		    "1" ONE "2" TWO);
	assert_rows("Rva,Length,Relocs,Section,Symbol,Node Type\r\n"
		    "0x00011050,3,0,.text,Ab__Cd,MethodWithGCInfo\r\n",
		    "2 rva 11050+3 method r2r Ab::Cd\n");
	assert_rows("\xef\xbb\xbf" GOOD1, "1" ONE);
}

UNIT_TEST(test_truncated)
{
	/* The end of the file is no end of a line: only a row that is complete is taken. */
	assert_rows(GOOD1 "7f0000002000 10 int32 [app] A::Two(int32)[OptimizedTier1]",
		    "1" ONE "2" TWO);
	assert_rows(GOOD1 "7f0000002000 10 int32 [app] A::Two(int32)[Optimi",
		    "1" ONE "2: the last row is cut short\n");
	assert_rows(GOOD1 "7f0000002000 10 int32 [app] A::Tw",
		    "1" ONE "2: the last row is cut short\n");
	assert_rows(GOOD1 "7f00000", "1" ONE "2: the last row is cut short\n");
	assert_rows(FACTS "00011050 03 A::B(System.Int32", "6: the last row is cut short\n");
	assert_rows("Rva,Length,Relocs,Section,Symbol,Node Type\n"
		    "0x00011050,3,0,.text,app_A__B,MethodWith",
		    "2: the last row is cut short\n");
}

UNIT_TEST(test_refused)
{
	static const char bom[] = "\xff\xfe"
				  "7\0f\0";
	static const char wide[] = "7\0f\0"
				   "0\0"
				   "0\0 \0"
				   "1\0"
				   "0\0 \0"
				   "A\0:\0:\0"
				   "B\0(\0)\0\n\0";
	static const unsigned char binary[] = {
		1, 2, 3, 4, 5, 0x80, 0xff, 0, 9, 7, 7, 7, 7, 7, 1, 1
	};

	assert_refused(bom, sizeof(bom) - 1, -ENOTSUP, "UTF-16");
	assert_refused(wide, sizeof(wide) - 1, -ENOTSUP, "UTF-16");
	assert_refused(wide + 1, sizeof(wide) - 2, -ENOTSUP, "UTF-16");
	assert_refused(binary, sizeof(binary), -EINVAL, "binary");
	assert_refused("\177ELF\2\1\1", 7, -EINVAL, "program");
	assert_refused("MZ\x90", 3, -EINVAL, "program");
	assert_refused("", 0, -ENODATA, "empty");
	assert_refused("\n\n", 2, -ENODATA, "empty");
	assert_refused("hello\nworld\n", 12, -EINVAL, "none of the known");
	assert_refused("Length,% Of File,Average Size,Count,Node Type\n1,2,3,4,x\n", 55, -EINVAL,
		       "statistics");
	assert_refused("FFFFFFFE 00 9\n00011050 03 A::B()\n", 34, -ENOTSUP, "version");
}

UNIT_TEST(test_facts)
{
	assert_rows("FFFFFFFF 00 3BA02F\nFFFFFFFE 00 1\n00011050 03 A::B()\n",
		    "1: the signature is not 32 hexadecimal digits\n"
		    "3: there is no signature before the first row, so the image cannot be checked "
		    "(used)\n3 rva 11050+3 method r2r A::B() returns=void\n");
	assert_rows(FACTS "00011050 03 A::B()\n00011000 03 A::C()\n",
		    "6 rva 11050+3 method r2r A::B() returns=void\n"
		    "7: the row is out of order: its RVA is below the one before (used)\n"
		    "7 rva 11000+3 method r2r A::C() returns=void\n");
	assert_rows(FACTS "00011050 03 no method\n", "6: the name is no Type::Method\n");
}

UNIT_TEST(test_damaged_tables)
{
	assert_rows(
		"Node & Symbol Map\n-----\n\nRVA        | LENGTH   | RELOCS | SECTION | SYMBOL (NODE)\n"
		"-----\n0x00011050 | 0x000003 |      0 | .text   | Ab__Cd  (MethodWithGCInfo)\n"
		"0x00011060 | 0x000003\n"
		"0x00011070 | 0xzz |      0 | .text   | Ab__Cd  (MethodWithGCInfo)\n"
		"0x00011080 | 0x000003 |      0 | .text   | Ab__Cd  MethodWithGCInfo\n"
		"0x00011090 | 0x000003 |      0 | .text   | AbCd  (MethodWithGCInfo)\n"
		"hello\n",
		"6 rva 11050+3 method r2r Ab::Cd\n"
		"7: the row ends before its fifth column\n"
		"8: there is no size behind the address\n"
		"9: the row does not end with its node's type\n"
		"10: the symbol is no Type__Method\n"
		"11: the row is no RVA | LENGTH | RELOCS | SECTION | SYMBOL\n");
	assert_rows(
		"Rva,Length,Relocs,Section,Symbol,Node Type\n0x00011050,3,0\n"
		"0x00011050,x,0,.text,Ab__Cd,MethodWithGCInfo\n11050,3,0,.text,Ab__Cd,MethodWithGCInfo\n",
		"2: the row has less than six columns\n3: there is no size behind the address\n"
		"4: the row does not begin with an address\n");
	assert_rows(
		"ImageLoad;/a;b/c.dll;{a4400f9d-228c-4086-94e1-588251b0132f};0x7f31bf660000;\n"
		"ImageLoad;/a.dll;{a4400f9d-228c-4086-94e1-588251b0132};(nil);\n"
		"ImageLoad;/a.dll;{a4400f9d-228c-4086-94e1-588251b0132f};0xzz;\n"
		"ImageUnload;/a.dll;\n",
		"1 at 7f31bf660000+0 image unknown /a;b/c.dll mvid=a4400f9d-228c-4086-94e1-588251b0132f\n"
		"2: the row is no ImageLoad;PATH;{MVID};BASE;\n3: the base is no address\n"
		"4: the row is no ImageLoad;PATH;{MVID};BASE;\n");
}

static int count_any(void *user, const struct mapparse_row *row)
{
	(void)row;
	++*(unsigned int *)user;
	return 0;
}

/* A line of 100 MB in the middle: dropped but for its beginning, in no more memory. */
UNIT_TEST(test_long_line)
{
	enum { MEGABYTE = 1 << 20 };
	unsigned int rows = 0;
	struct rusage before, after;
	char *block = malloc(MEGABYTE);
	struct mapparse_reader *r = mapparse_reader_create(
		&(struct mapparse_options){ .row = count_any, .user = &rows });

	assert_non_null(block);
	memset(block, 'x', MEGABYTE);
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(mapparse_reader_push(r, GOOD1, strlen(GOOD1)), 0);
	assert_int_equal(mapparse_reader_push(r, "7f0000005000 10 ", 16), 0);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(mapparse_reader_push(r, block, MEGABYTE), 0);
	assert_int_equal(mapparse_reader_push(r, "\n" GOOD2, strlen("\n" GOOD2)), 0);
	assert_int_equal(mapparse_reader_finish(r), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(rows, 3);
	assert_int_equal(mapparse_reader_counts(r)->bad, 1);
	assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
	mapparse_reader_destroy(r);
	free(block);
}

UNIT_TEST(test_cut_name)
{
	char *name = malloc(100001), *bytes = NULL;
	struct collected c;

	assert_non_null(name);
	memset(name, 'b', 100000);
	name[100000] = '\0';
	assert_true(asprintf(&bytes, GOOD1 "7f0000005000 10 void [app] A::%s()\n" GOOD2, name) > 0);
	free(name);
	c = collect(bytes, strlen(bytes), 0);
	assert_non_null(
		strstr(c.text, "2: the line is longer than 64 KiB; its end was dropped (used)"));
	assert_non_null(strstr(c.text, "bbb (cut)\n3" TWO));
	free(c.text);
	free(bytes);
}

static int stop_row(void *user, const struct mapparse_row *row)
{
	(void)user;
	return row->line == 2 ? 42 : 0;
}

UNIT_TEST(test_stop)
{
	struct mapparse_reader *r =
		mapparse_reader_create(&(struct mapparse_options){ .row = stop_row });

	assert_int_equal(mapparse_reader_push(r, GOOD1 GOOD2 GOOD2, strlen(GOOD1 GOOD2 GOOD2)), 0);
	assert_int_equal(mapparse_reader_finish(r), 42);
	assert_int_equal(mapparse_reader_push(r, GOOD1, strlen(GOOD1)), 42);
	mapparse_reader_destroy(r);
}

static int add_range(void *user, const struct mapparse_row *row)
{
	return mapparse_ranges_add(user, row);
}

UNIT_TEST(test_ranges)
{
	static const char bytes[] = "1000 10 a()\n1000 20 b()\n1010 4 c()\n2000 10 d()\n"
				    "1018 10 e()\n1030 1 f()\n2000 10 g()\n";
	struct mapparse_ranges *ranges = mapparse_ranges_create();
	struct mapparse_ranges_counts counts;
	struct mapparse_reader *r = mapparse_reader_create(
		&(struct mapparse_options){ .row = add_range, .user = ranges });

	mapparse_reader_push(r, bytes, strlen(bytes));
	assert_int_equal(mapparse_reader_finish(r), 0);
	assert_int_equal(mapparse_reader_counts(r)->out_of_order, 1);
	mapparse_ranges_check(ranges, &counts, NULL, NULL);
	assert_int_equal(counts.duplicates, 2);
	assert_int_equal(counts.overlaps, 2);
	mapparse_reader_destroy(r);
	mapparse_ranges_destroy(ranges);
}

UNIT_TEST(test_file_names)
{
	struct mapparse_file_name n;
	static const char *const of_app[] = {
		"/x/app.map", "app.map.csv", "app.ni.r2rmap", "app.ni.map",
		"y/app.ni.{8b5bc209-7ef4-428f-a28c-60fda6632e1a}.map"
	};

	for (size_t i = 0; i < 5; i++) {
		mapparse_file_name_parse(&n, of_app[i]);
		assert_int_equal(n.image.length, 3);
		assert_memory_equal(n.image.start, "app", 3);
		assert_int_equal(n.mvid.length, i == 4 ? 36 : 0);
		assert_int_equal(n.pid, 0);
	}
	assert_memory_equal(n.mvid.start, "8b5bc209-7ef4-428f-a28c-60fda6632e1a", 36);
	mapparse_file_name_parse(&n, "/tmp/perf-4711.map");
	assert_int_equal(n.pid, 4711);
	assert_int_equal(n.image.length, 0);
	mapparse_file_name_parse(&n, "perfinfo-12.map");
	assert_int_equal(n.pid, 12);
	mapparse_file_name_parse(&n, "System.Text.ni.{nope}.map");
	assert_int_equal(n.mvid.length, 0);
	mapparse_file_name_parse(&n, "");
	assert_int_equal(n.image.length, 0);
}

UNIT_MAIN(NULL, NULL)
