// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --if and --by=EXPR: what their text means, and what is made of it for a method. Conditions are
 * made at random and tried on all values of what they name, against what C says of them.
 */
#include "tests/unit/value_fixture.h"

#include <errno.h>
#include <uchar.h>

#include "base/cleanup.h"
#include "filter/filter.h"
#include "value/by.h"
#include "value/filter.h"

enum { PARTS = 5, TRIALS = 4000, WORDS = WATCH_WORDS };

/* Text ------------------------------------------------------------------------------------- */

static void expect_refused(const char *text, bool operand, size_t column, const char *words)
{
	struct filter filter;
	struct error err = { .text = "" };
	char at[40];
	int result = operand ? filter_parse_operand(&filter, text, &err) :
			       filter_parse(&filter, text, &err);

	snprintf(at, sizeof(at), "at character %zu ", column);
	if (result != -EINVAL || !strstr(err.text, at) || !strstr(err.text, words))
		fail_msg("'%s': %d, %s", text, result, err.text);
}

UNIT_TEST(mistakes_are_pointed_at)
{
	static const struct {
		const char *text;
		size_t column;
		const char *words;
	} cases[] = {
		{ "", 1, "the name of a parameter" },
		{ "a ==", 5, "a number, a string" },
		{ "a = 3", 3, "&&, || or the end" },
		{ "a == 3 &&", 10, "the name of a parameter" },
		{ "(a", 3, "closing parenthesis" },
		{ "a == \"x", 8, "the end of a string" },
		{ "a == 'xy'", 6, "one character" },
		{ "a == 5x", 6, "a time such as 5ms" },
		{ "a == -5ms", 6, "a time such as 5ms" },
		{ "a == 1.5", 6, "a whole number" },
		{ "a == 99999999999999999999", 6, "a whole number" },
		{ "took > 18446744073710s", 8, "a time such as 5ms" },
		{ "a.b.c.d.e", 9, "more fields" },
		{ "a.", 3, "the name of a parameter" },
		{ "!!!!!!!!!!!!!!!!!!a", 17, "too deep" },
		{ "threw is", 9, "the type of an exception" },
		{ "threw is 3", 10, "the type of an exception" },
		{ "a == 1 && b is A.B", 11, "'threw' should be" },
		{ "threw isA", 7, "&&, || or the end" },
		{ "threw is A || threw is B || threw is C || threw is D || threw is E", 66,
		  "more types" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_refused(cases[i].text, false, cases[i].column, cases[i].words);
	expect_refused("a == 3", true, 3, "the end");
	expect_refused("3", true, 1, "the name of a parameter");
}

static enum filter_operand operand_in(const char *text)
{
	enum filter_operand operand;
	_cleanup_(filter_deinit) struct filter filter;

	assert_int_equal(filter_parse_operand(&filter, text, NULL), 0);
	operand = filter.nodes[filter.root].operand;
	return operand;
}

/* Of a long one the part is told that the mistake is in. */
UNIT_TEST(mistakes_far_behind)
{
	char text[4096] = "s == \"";
	size_t length = strlen(text);

	while (length < 3000)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "\xe2\x82\xac");
	snprintf(text + length, sizeof(text) - length, "\" ||");
	expect_refused(text, false, length + 5, "...\xe2\x82\xac");
	expect_refused(text, false, length + 5, "\xe2\x82\xac\" ||': at");
	text[5] = '.';
	expect_refused(text, false, 6, "'s == .\xe2\x82\xac");
	expect_refused(text, false, 6, "\xe2\x82\xac...': at");
}

UNIT_TEST(words_for_the_end)
{
	assert_int_equal(operand_in("result"), FILTER_RESULT);
	assert_int_equal(operand_in(" result.Status "), FILTER_RESULT);
	assert_int_equal(operand_in("took"), FILTER_TOOK);
	assert_int_equal(operand_in("@result"), FILTER_PARAMETER);
	assert_int_equal(operand_in("@took"), FILTER_PARAMETER);
	assert_int_equal(operand_in("threw"), FILTER_THREW);
	assert_int_equal(operand_in("@threw"), FILTER_PARAMETER);
	assert_int_equal(operand_in("thread.id"), FILTER_THREAD);
	assert_int_equal(operand_in("@thread.id"), FILTER_PARAMETER);
	assert_int_equal(operand_in("results"), FILTER_PARAMETER);
	assert_int_equal(operand_in("order.result"), FILTER_PARAMETER);
}

UNIT_TEST(types_of_exceptions)
{
	struct filter filter;

	assert_int_equal(filter_parse(&filter, "threw is A.B+C`1&&took>1s||!(threw\tis  _D)", NULL),
			 0);
	assert_int_equal(filter.type_count, 2);
	assert_string_equal(filter.types[0], "A.B+C`1");
	assert_string_equal(filter.types[1], "_D");
	assert_true(filter_is_of_end(&filter, filter.root));
	filter_deinit(&filter);
	assert_int_equal(filter_parse(&filter, "thread.id == 3 || thread.name == \"x\"", NULL), 0);
	assert_false(filter_is_of_end(&filter, filter.root));
	filter_deinit(&filter);
}

UNIT_TEST(times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = { { "took>7ns", 7 },
		      { "took > 5us", 5000 },
		      { "took > 0x10ms", 16000000 },
		      { "took > 3s", 3000000000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(filter_deinit) struct filter filter;

		assert_int_equal(filter_parse(&filter, cases[i].text, NULL), 0);
		assert_int_equal(filter.nodes[0].literal, FILTER_TIME);
		assert_int_equal(filter.nodes[0].number, cases[i].ns);
		assert_true(filter_is_of_end(&filter, filter.root));
	}
}

/* Programs --------------------------------------------------------------------------------- */

struct trial {
	uint64_t words[WORDS]; /* by enum watch_source */
	uint64_t cells[WATCH_CELLS];
};

static bool goes_on(struct trial *trial, const struct watch_op *op)
{
	uint64_t value = trial->cells[op->src];

	switch (op->code) {
	case WATCH_IF_ZERO:
		return value != 0;
	case WATCH_IF_EQUAL:
		return value == op->immediate;
	case WATCH_IF_BELOW:
		return value < op->immediate;
	case WATCH_TAKE:
		assert_true(op->source < WORDS);
		trial->cells[op->dst] = trial->words[op->source];
		return true;
	case WATCH_MASK:
		trial->cells[op->dst] = value & op->immediate;
		return true;
	case WATCH_ADD:
		trial->cells[op->dst] = value + op->immediate;
		return true;
	default:
		fail_msg("op %u", op->code);
		return false;
	}
}

static enum watch_code verdict(struct trial *trial, const struct watch_op *ops, size_t count)
{
	size_t pc = 0;

	memset(trial->cells, 0, sizeof(trial->cells));
	for (;;) {
		assert_true(pc < count);
		if (ops[pc].code >= WATCH_ACCEPT)
			return (enum watch_code)ops[pc].code;
		if (goes_on(trial, &ops[pc])) {
			pc++;
		} else {
			assert_true(ops[pc].otherwise > pc);
			pc = ops[pc].otherwise;
		}
	}
}

static void add_integer(struct scene *scene, const char *name, uint32_t number)
{
	add_slot(scene, name, type_of(scene, VALUE_SIGNED, "int", 4), VALUE_IN_REGISTER, number);
}

static struct scene *integers(void)
{
	struct scene *scene = scene_new();

	add_integer(scene, "a", 0);
	add_integer(scene, "b", 1);
	add_integer(scene, "c", 2);
	scene->signature.result.type = type_of(scene, VALUE_SIGNED, "int", 4);
	scene->signature.result.part_count = 1;
	scene->signature.result.parts[0].where = VALUE_IN_REGISTER;
	scene->signature.result.parts[0].size = 4;
	return scene;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/*
 * What is said of a, b, the exception, the result and the time, each 0 or 1, as text and as bits of
 * truth.
 */
struct formula {
	struct text text;
	uint32_t truth; /* bit i: of values i */
	uint32_t left;	/* likewise, where the call was left by an exception */
};

enum { TYPE_PART = 2, RESULT_PART, TOOK_PART, THREW_PART, NOT_PART, AND_PART, FORMS = 9 };

static void add_formula(struct formula *formula, uint32_t *seed, unsigned int depth)
{
	static const char *const names[] = { "a > 0",	    "b != 0",	   "threw is A.B",
					     "result == 1", "took >= 1ms", "threw" };
	uint32_t which = next_random(seed) % (depth ? FORMS : NOT_PART);
	struct formula other = { .truth = 0 };
	bool is_and;

	if (which < NOT_PART) {
		formula->truth = which == THREW_PART ? UINT32_MAX : 0;
		for (uint32_t i = 0; i < 1U << PARTS; i++)
			formula->truth |= (i >> which & 1) << i;
		formula->left = which == RESULT_PART ? 0 : formula->truth;
		if (which == TYPE_PART || which == THREW_PART)
			formula->truth = 0;
		text_add(&formula->text, names[which]);
		return;
	}
	text_add(&formula->text, which == NOT_PART ? "!(" : "(");
	add_formula(formula, seed, depth - 1);
	if (which == NOT_PART) {
		formula->truth = ~formula->truth;
		formula->left = ~formula->left;
		text_add(&formula->text, ")");
		return;
	}
	is_and = which == AND_PART;
	text_add(&formula->text, is_and ? " && " : " || ");
	add_formula(&other, seed, depth - 1);
	text_add(&formula->text, text_chars(&other.text));
	text_add(&formula->text, ")");
	formula->truth = is_and ? formula->truth & other.truth : formula->truth | other.truth;
	formula->left = is_and ? formula->left & other.left : formula->left | other.left;
	text_deinit(&other.text);
}

static void check_values(const struct value_filter *compiled, const struct formula *formula,
			 uint32_t values, size_t *decided)
{
	struct trial trial = { .words = { 0 } };
	enum watch_code is;

	for (uint32_t i = 0; i < TYPE_PART; i++)
		trial.words[i] = 0xffffffff00000000 | (values >> i & 1);
	trial.words[WATCH_RESULT_0] = values >> RESULT_PART & 1;
	is = verdict(&trial, compiled->ops, compiled->count);
	trial.words[WATCH_DECIDED] = trial.cells[WATCH_BITS_CELL];
	*decided += is != WATCH_LATER;
	for (int left = 0; left < 2; left++) {
		bool so = (left ? formula->left : formula->truth) >> values & 1;
		enum watch_code in_the_end = is;

		if (is == WATCH_LATER) {
			trial.words[WATCH_TOOK] = values >> TOOK_PART & 1 ? 1000000 : 999999;
			trial.words[WATCH_HAS_RESULT] = !left;
			trial.words[WATCH_LEFT] = (uint64_t)left;
			trial.words[WATCH_TYPES] = left ? 2 | (values >> TYPE_PART & 1) : 0;
			in_the_end = verdict(&trial, compiled->exit_ops, compiled->exit_count);
		}
		if (in_the_end != (so ? WATCH_ACCEPT : WATCH_REJECT))
			fail_msg("%s of %x, %d: %d", text_chars(&formula->text), values, left,
				 in_the_end);
	}
}

UNIT_TEST(conditions_of_entry_and_end)
{
	_cleanup_(scene_free_at) struct scene *scene = integers();
	static struct value_filter compiled;
	size_t decided = 0;
	uint32_t seed = 1;

	for (size_t i = 0; i < TRIALS; i++) {
		struct formula formula = { .truth = 0 };
		struct error err = { .text = "" };
		struct filter filter;

		add_formula(&formula, &seed, 4);
		if (filter_parse(&filter, text_chars(&formula.text), &err) ||
		    value_filter_compile(&compiled, &filter, "A::B", &scene->signature, &err))
			fail_msg("%s: %s", text_chars(&formula.text), err.text);
		for (uint32_t values = 0; values < 1U << PARTS; values++)
			check_values(&compiled, &formula, values, &decided);
		filter_deinit(&filter);
		text_deinit(&formula.text);
	}
	assert_true(decided > TRIALS);
}

/* What the entry decides alone it decides. */
UNIT_TEST(the_entry_decides_what_it_can)
{
	static const struct {
		const char *text;
		uint64_t a;
		enum watch_code is;
	} cases[] = {
		{ "a == 1 && result == 1", 0, WATCH_REJECT },
		{ "a == 1 && result == 1", 1, WATCH_LATER },
		{ "a == 1 || took > 1s", 1, WATCH_ACCEPT },
		{ "a == 1 || took > 1s", 0, WATCH_LATER },
		{ "!(a == 1 || result == 1)", 1, WATCH_REJECT },
		{ "(result == 2 && a == 1) || (took > 1s && a == 2)", 3, WATCH_REJECT },
		{ "a == 1", 1, WATCH_ACCEPT },
		{ "result == 1", 1, WATCH_LATER },
	};
	_cleanup_(scene_free_at) struct scene *scene = integers();
	static struct value_filter compiled;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trial trial = { .words = { cases[i].a } };
		_cleanup_(filter_deinit) struct filter filter;

		assert_int_equal(filter_parse(&filter, cases[i].text, NULL), 0);
		assert_int_equal(
			value_filter_compile(&compiled, &filter, "A::B", &scene->signature, NULL),
			0);
		assert_int_equal(verdict(&trial, compiled.ops, compiled.count), cases[i].is);
	}
}

/* What is asked of the call itself, and what does not fit it. */
UNIT_TEST(threads)
{
	static const struct {
		const char *text;
		enum watch_code is;
	} cases[] = {
		{ "thread.id == 4711", WATCH_ACCEPT },
		{ "thread.id != 4711", WATCH_REJECT },
		{ "thread.id > 4711 || thread.name == \"worker-1\"", WATCH_ACCEPT },
		{ "thread.name != \"worker-1\"", WATCH_REJECT },
		{ "thread.name == \"worker-12\"", WATCH_REJECT },
		{ "thread.name == \"worker-\"", WATCH_REJECT },
		{ "thread.name != \"\" && a == 3", WATCH_ACCEPT },
	};
	_cleanup_(scene_free_at) struct scene *scene = integers();
	static struct value_filter compiled;
	struct filter filter;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trial trial = { .words = { 3, [WATCH_TID] = 4711 } };

		memcpy(&trial.words[WATCH_NAME_0], "worker-1", 8);
		assert_int_equal(filter_parse(&filter, cases[i].text, NULL), 0);
		assert_int_equal(
			value_filter_compile(&compiled, &filter, "A::B", &scene->signature, NULL),
			0);
		assert_int_equal(compiled.exit_count, 0);
		if (verdict(&trial, compiled.ops, compiled.count) != cases[i].is)
			fail_msg("%s", cases[i].text);
		filter_deinit(&filter);
	}
}

UNIT_TEST(what_does_not_fit_is_pointed_at)
{
	static const struct {
		const char *text;
		size_t column;
		const char *words;
	} cases[] = {
		{ "a == 3 && threw.Message == \"x\"", 11, "'threw' has no fields" },
		{ "threw == 3", 10, "'threw' is true or false" },
		{ "threw > true", 9, "'threw' is true or false" },
		{ "thread == null", 1, "'thread.id' and 'thread.name'" },
		{ "thread.id.x == 1", 1, "'thread.id' and 'thread.name'" },
		{ "thread.id == -1", 14, "the id of a thread" },
		{ "thread.id == \"1\"", 14, "the id of a thread" },
		{ "thread.name == 3", 16, "the name of a thread" },
		{ "thread.name == \"0123456789abcdef\"", 16, "15 bytes" },
		{ "thread.name < \"x\"", 1, "equal (==) to another or not" },
		{ "a == 3 && x > 1", 11, "A::B has 'x' in xmm5, which programs" },
		{ "half.value == 1", 1, "A::B has 'value' in xmm2, which programs" },
		{ "far.value == 1", 1, "has a 'double' there, and floating point is not compared" },
	};
	_cleanup_(scene_free_at) struct scene *scene = integers();
	struct value_type *half = type_of(scene, VALUE_STRUCT, "Half", 16);
	const struct value_type *real = type_of(scene, VALUE_FLOAT, "double", 8);
	static struct value_filter compiled;

	add_field(scene, half, "value", real, 0);
	add_field(scene, half, "count", type_of(scene, VALUE_SIGNED, "long", 8), 8);
	add_slot(scene, "x", real, VALUE_IN_FLOAT, 5);
	add_part(add_slot(scene, "half", half, VALUE_IN_FLOAT, 2), VALUE_IN_REGISTER, 3);
	add_slot(scene, "far", half, VALUE_ON_STACK, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { .text = "" };
		_cleanup_(filter_deinit) struct filter filter;
		char at[40];

		snprintf(at, sizeof(at), "at character %zu ", cases[i].column);
		assert_int_equal(filter_parse(&filter, cases[i].text, &err), 0);
		assert_int_equal(
			value_filter_compile(&compiled, &filter, "A::B", &scene->signature, &err),
			-EINVAL);
		if (!strstr(err.text, at) || !strstr(err.text, cases[i].words))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

/* However many there are, it is said that they are too many. */
UNIT_TEST(a_condition_that_is_too_long)
{
	_cleanup_(text_deinit) struct text text = { 0 };
	_cleanup_(scene_free_at) struct scene *scene = integers();
	static struct value_filter compiled;
	struct error err = { .text = "" };
	_cleanup_(filter_deinit) struct filter filter;

	for (int i = 0; i < FILTER_NODES / 2; i++)
		text_printf(&text, "%sa != %d", i ? " || " : "", i);
	assert_int_equal(filter_parse(&filter, text_chars(&text), &err), 0);
	assert_int_equal(value_filter_compile(&compiled, &filter, "A::B", &scene->signature, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "would take more than 192 steps"));
}

/* Values ----------------------------------------------------------------------------------- */

/* The text of the value that @text names, which a program has taken. */
static const char *show_value(struct scene *scene, const char *text, enum value_format format)
{
	struct machine *machine = &scene->machine;
	struct error err = { .text = "" };
	static struct value_by by;
	struct by_key key = { .program = 1 };
	const struct watch_item *item;
	struct filter filter;

	text_clear(&scene->out);
	assert_int_equal(filter_parse_operand(&filter, text, &err), 0);
	if (value_by_compile(&by, &filter, "A::B", &scene->signature, &scene->options, &err)) {
		filter_deinit(&filter);
		text_add(&scene->out, err.text);
		return text_chars(&scene->out);
	}
	filter_deinit(&filter);
	memset(machine->used, 0, sizeof(machine->used));
	run(machine, by.at_end, by.ops, by.count);
	item = (const void *)machine->items[by.at_end];
	if (machine->used[by.at_end] == 0 || item->status != WATCH_OK)
		return "unknown";
	key.kind = (uint8_t)item->slot;
	key.bytes = item->bytes;
	key.cut = item->whole > item->bytes;
	memcpy(key.words, item + 1, item->bytes);
	value_by_add(by.type, &key, format, &scene->out);
	return text_chars(&scene->out);
}

UNIT_TEST(values_to_count_by)
{
	static const struct value_member members[] = { { "Open", 0 }, { "Lost", 0xfd } };
	_cleanup_(scene_free_at) struct scene *scene = integers();
	struct value_type *is = type_of(scene, VALUE_ENUM, "State", 1);
	struct value_type *order = type_of(scene, VALUE_OBJECT, "Order", 8);
	const struct value_type *string = type_of(scene, VALUE_STRING, "string", 8);
	struct {
		uint64_t table, text;
		uint8_t state;
	} bytes = { 1, 0x30000, 0xfd };
	struct {
		uint64_t table;
		uint32_t length;
		char16_t chars[6];
	} chars = { 1, 6, u"grüße\"" };

	is->members = members;
	is->member_count = 2;
	is->is_signed = true;
	add_field(scene, order, "text", string, 0);
	add_field(scene, order, "state", is, 8);
	add_slot(scene, "order", order, VALUE_IN_REGISTER, 3);
	add_slot(scene, "yes", type_of(scene, VALUE_BOOL, "bool", 1), VALUE_IN_REGISTER, 4);
	add_slot(scene, "x", type_of(scene, VALUE_FLOAT, "double", 8), VALUE_IN_FLOAT, 0);
	add_memory(scene, 0x20000, &bytes, sizeof(bytes));
	add_memory(scene, 0x30000, &chars, sizeof(chars));
	scene->machine.arguments[0] = 0xfffffffe;
	scene->machine.arguments[3] = 0x20000;
	scene->machine.arguments[4] = 0x101;
	assert_string_equal(show_value(scene, "a", VALUE_TEXT), "-2");
	assert_string_equal(show_value(scene, "a", VALUE_JSON), "{\"type\":\"int\",\"value\":-2}");
	assert_string_equal(show_value(scene, "yes", VALUE_TEXT), "true");
	assert_string_equal(show_value(scene, "order.state", VALUE_TEXT), "Lost");
	assert_string_equal(show_value(scene, "order.text", VALUE_TEXT), "\"grüße\\\"\"");
	assert_string_equal(show_value(scene, "order.text.Length", VALUE_TEXT), "6");
	scene->options.string_bytes = 5;
	assert_string_equal(show_value(scene, "order.text", VALUE_TEXT), "\"gr\"…");
	assert_string_equal(show_value(scene, "order.text", VALUE_JSON),
			    "{\"type\":\"string\",\"value\":\"gr\",\"cut\":true}");
	bytes.text = 0;
	assert_string_equal(show_value(scene, "order.text", VALUE_TEXT), "null");
	assert_string_equal(show_value(scene, "order.text.Length", VALUE_JSON),
			    "{\"type\":\"int\",\"value\":null}");
	bytes.text = 0x77777;
	assert_string_equal(show_value(scene, "order.text", VALUE_TEXT), "unknown");
	scene->machine.arguments[3] = 0;
	assert_string_equal(show_value(scene, "order.state", VALUE_TEXT), "null");
	assert_non_null(strstr(show_value(scene, "x", VALUE_TEXT),
			       "--by 'x': at character 1 A::B has a 'double' there"));
	assert_non_null(strstr(show_value(scene, "order", VALUE_TEXT), "has a 'Order' there"));
	assert_non_null(strstr(show_value(scene, "nosuch", VALUE_TEXT), "no parameter of A::B"));
}

int main(void)
{
	return unit_run(NULL, NULL);
}
