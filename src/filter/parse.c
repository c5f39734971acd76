// SPDX-License-Identifier: GPL-2.0-or-later
/* See filter.h. By recursive descent: or binds least, then and, then not. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/filter.h"

enum { DEPTH_MAX = 16 };

struct parser {
	struct filter *filter;
	const char *at;
	char *word; /* where the next goes */
	unsigned int depth;
	struct error *err;
};

/* Is it one that goes on with a character of UTF-8? */
static bool is_within(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

int filter_refuse(const struct filter *filter, size_t at, const char *what, struct error *err)
{
	enum { SHOWN = 240 }; /* on either side: more than that would leave no room for the rest */
	const size_t length = strlen(filter->source), end = at + SHOWN;
	const char *from = filter->source + (at > SHOWN ? at - SHOWN : 0);
	const char *to = filter->source + (end < length ? end : length);

	while (from < to && is_within(*from))
		from++;
	while (to > from && is_within(*to))
		to--;
	return error_set(err, -EINVAL, "%s '%s%.*s%s': at character %zu %s", filter->option,
			 from > filter->source ? "..." : "", (int)(to - from), from,
			 *to ? "..." : "", at, what);
}

static size_t column(const struct parser *parser)
{
	return (size_t)(parser->at - parser->filter->source) + 1;
}

static int refuse(const struct parser *parser, const char *what)
{
	return filter_refuse(parser->filter, column(parser), what, parser->err);
}

static void skip_spaces(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t");
}

static bool take(struct parser *parser, const char *token)
{
	skip_spaces(parser);
	if (strncmp(parser->at, token, strlen(token)) != 0)
		return false;
	parser->at += strlen(token);
	return true;
}

static int add_node(struct parser *parser, const struct filter_node *node, size_t *number)
{
	struct filter *filter = parser->filter;

	if (filter->count == FILTER_NODES)
		return refuse(parser, "there are more conditions than are taken");
	*number = filter->count;
	filter->nodes[filter->count++] = *node;
	return 0;
}

/* Words ----------------------------------------------------------------------------------- */

static bool begins_word(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '@' || (c & 0x80);
}

static bool continues_word(char c)
{
	return begins_word(c) || isdigit((unsigned char)c);
}

static const char *take_word(struct parser *parser)
{
	char *word = parser->word;
	size_t length = 0;

	/* As C# has names that are keywords. */
	parser->at += *parser->at == '@';
	while (continues_word(parser->at[length]))
		length++;
	memcpy(word, parser->at, length);
	word[length] = '\0';
	parser->at += length;
	parser->word = word + length + 1;
	return word;
}

/* Those words are parameters' if they are written with an @, as keywords in C#. */
static enum filter_operand operand_of(const struct filter_node *node, bool with_at)
{
	static const char *const words[] = { [FILTER_RESULT] = "result",
					     [FILTER_TOOK] = "took",
					     [FILTER_THREW] = "threw",
					     [FILTER_THREAD] = "thread" };

	for (int i = FILTER_RESULT; i <= FILTER_THREAD && !with_at; i++) {
		if (strcmp(node->path[0], words[i]) == 0)
			return (enum filter_operand)i;
	}
	return FILTER_PARAMETER;
}

static int take_path(struct parser *parser, struct filter_node *node)
{
	bool with_at;

	skip_spaces(parser);
	node->at = column(parser);
	with_at = *parser->at == '@';
	do {
		if (!begins_word(*parser->at))
			return refuse(parser, "the name of a parameter or field should be");
		if (node->path_count == FILTER_PATH)
			return refuse(parser, "there are more fields in fields than are followed");
		node->path[node->path_count++] = take_word(parser);
	} while (*parser->at == '.' && parser->at++);
	node->operand = operand_of(node, with_at);
	return 0;
}

/* The number is of such a unit, if one stands behind it. */
static bool take_unit(struct parser *parser, struct filter_node *node)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(parser->at, units[i].name, length) != 0 ||
		    continues_word(parser->at[length]))
			continue;
		if (node->negative || node->number > UINT64_MAX / units[i].ns)
			return false;
		node->literal = FILTER_TIME;
		node->number *= units[i].ns;
		parser->at += length;
		return true;
	}
	return false;
}

static int take_number(struct parser *parser, struct filter_node *node)
{
	char *end;

	node->literal = FILTER_NUMBER;
	node->negative = *parser->at == '-';
	parser->at += node->negative;
	errno = 0;
	node->number = strtoull(parser->at, &end, 0);
	if (errno || !isdigit((unsigned char)*parser->at) || *end == '.')
		return refuse(parser, "a whole number of at most 64 bits should be");
	parser->at = end;
	if (continues_word(*end) && !take_unit(parser, node))
		return filter_refuse(
			parser->filter, node->literal_at,
			"a whole number of at most 64 bits, or a time such as 5ms, should be",
			parser->err);
	return 0;
}

static char escaped(char c)
{
	static const char letters[] = "ntr", meanings[] = "\n\t\r";
	const char *letter = strchr(letters, c);

	return letter ? meanings[letter - letters] : c;
}

/* Up to the next @quote. */
static int take_quoted(struct parser *parser, char quote, struct filter_node *node)
{
	node->text = parser->word;
	parser->at++;
	while (*parser->at && *parser->at != quote) {
		bool escape = *parser->at == '\\' && parser->at[1];

		parser->at += escape;
		*parser->word++ = escape ? escaped(*parser->at) : *parser->at;
		parser->at++;
	}
	*parser->word++ = '\0';
	if (!*parser->at)
		return refuse(parser, "the end of a string is missing");
	parser->at++;
	return 0;
}

static int take_char(struct parser *parser, struct filter_node *node)
{
	int result = take_quoted(parser, '\'', node);

	if (result)
		return result;
	if (strlen(node->text) != 1 || (node->text[0] & 0x80))
		return filter_refuse(parser->filter, node->literal_at,
				     "there should be one character of ASCII, such as 'x'",
				     parser->err);
	node->literal = FILTER_CHAR;
	node->number = (unsigned char)node->text[0];
	return 0;
}

static void take_named(struct parser *parser, struct filter_node *node)
{
	node->text = take_word(parser);
	node->literal = FILTER_WORD;
	if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
		node->literal = FILTER_BOOL;
		node->number = node->text[0] == 't';
	} else if (strcmp(node->text, "null") == 0) {
		node->literal = FILTER_NULL;
	}
}

static int take_literal(struct parser *parser, struct filter_node *node)
{
	skip_spaces(parser);
	node->literal_at = column(parser);
	if (*parser->at == '"') {
		node->literal = FILTER_STRING;
		return take_quoted(parser, '"', node);
	}
	if (*parser->at == '\'')
		return take_char(parser, node);
	if (*parser->at == '-' || isdigit((unsigned char)*parser->at))
		return take_number(parser, node);
	if (!begins_word(*parser->at))
		return refuse(
			parser,
			"there should be a number, a string in quotes, true, false, null or the member of an enum");
	take_named(parser, node);
	return 0;
}

/* Conditions ------------------------------------------------------------------------------ */

static bool take_order(struct parser *parser, enum filter_order *order)
{
	/* The longer ones first. */
	static const struct {
		const char *token;
		enum filter_order order;
	} orders[] = {
		{ "==", FILTER_EQUAL },		{ "!=", FILTER_NOT_EQUAL },
		{ "<=", FILTER_LESS_OR_EQUAL }, { ">=", FILTER_GREATER_OR_EQUAL },
		{ "<", FILTER_LESS },		{ ">", FILTER_GREATER },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		*order = orders[i].order;
		if (take(parser, orders[i].token))
			return true;
	}
	return false;
}

/* "is", and not the beginning of another word. */
static bool take_is(struct parser *parser)
{
	skip_spaces(parser);
	if (strncmp(parser->at, "is", 2) != 0 || continues_word(parser->at[2]))
		return false;
	parser->at += 2;
	return true;
}

static bool continues_type(char c)
{
	return c && (continues_word(c) || strchr(".+`", c));
}

/* Which of the filter's types has that name; .type_count: none yet. */
static size_t find_type(const struct filter *filter, const char *name)
{
	size_t i = 0;

	while (i < filter->type_count && strcmp(filter->types[i], name) != 0)
		i++;
	return i;
}

/* "threw is System.IO.IOException" */
static int take_type(struct parser *parser, struct filter_node *node)
{
	struct filter *filter = parser->filter;
	size_t length = 0;

	if (node->operand != FILTER_THREW)
		return filter_refuse(filter, node->at, "'threw' should be, of which 'is' asks",
				     parser->err);
	skip_spaces(parser);
	node->literal_at = column(parser);
	if (!begins_word(*parser->at))
		return refuse(parser,
			      "the type of an exception should be, such as System.Exception");
	while (continues_type(parser->at[length]))
		length++;
	memcpy(parser->word, parser->at, length);
	parser->word[length] = '\0';
	node->literal = FILTER_TYPE;
	node->text = parser->word;
	node->number = find_type(filter, node->text);
	if (node->number == FILTER_TYPES)
		return refuse(parser, "there are more types of exceptions than are taken");
	if (node->number == filter->type_count)
		filter->types[filter->type_count++] = node->text;
	parser->word += length + 1;
	parser->at += length;
	return 0;
}

/* "urgent" alone is one that is true. */
static int take_comparison(struct parser *parser, size_t *number)
{
	struct filter_node node = { .kind = FILTER_COMPARE };
	int result = take_path(parser, &node);

	if (result == 0 && take_is(parser)) {
		result = take_type(parser, &node);
	} else if (result == 0 && take_order(parser, &node.order)) {
		result = take_literal(parser, &node);
	} else if (result == 0) {
		node.order = FILTER_EQUAL;
		node.literal = FILTER_BOOL;
		node.number = 1;
		node.literal_at = node.at;
	}
	return result ? result : add_node(parser, &node, number);
}

static int take_or(struct parser *parser, size_t *number);

static int take_unary(struct parser *parser, size_t *number)
{
	struct filter_node node = { .kind = FILTER_NOT };
	int result;

	if (parser->depth == DEPTH_MAX)
		return refuse(parser, "conditions are too deep within each other");
	parser->depth++;
	skip_spaces(parser);
	if (parser->at[0] == '!' && parser->at[1] != '=') {
		parser->at++;
		result = take_unary(parser, &node.left);
		if (result == 0)
			result = add_node(parser, &node, number);
	} else if (take(parser, "(")) {
		result = take_or(parser, number);
		if (result == 0 && !take(parser, ")"))
			result = refuse(parser, "a closing parenthesis is missing");
	} else {
		result = take_comparison(parser, number);
	}
	parser->depth--;
	return result;
}

static int take_and(struct parser *parser, size_t *number)
{
	int result = take_unary(parser, number);

	while (result == 0 && take(parser, "&&")) {
		struct filter_node node = { .kind = FILTER_AND, .left = *number };

		result = take_unary(parser, &node.right);
		if (result == 0)
			result = add_node(parser, &node, number);
	}
	return result;
}

static int take_or(struct parser *parser, size_t *number)
{
	int result = take_and(parser, number);

	while (result == 0 && take(parser, "||")) {
		struct filter_node node = { .kind = FILTER_OR, .left = *number };

		result = take_and(parser, &node.right);
		if (result == 0)
			result = add_node(parser, &node, number);
	}
	return result;
}

static int take_operand(struct parser *parser, size_t *number)
{
	struct filter_node node = { .kind = FILTER_COMPARE };
	int result = take_path(parser, &node);

	return result ? result : add_node(parser, &node, number);
}

/* By @take, to the end, where @expected should be. */
static int parse(struct filter *filter, const char *option, const char *source,
		 int (*take_all)(struct parser *parser, size_t *number), const char *expected,
		 struct error *err)
{
	struct parser parser = { .filter = filter, .at = source, .err = err };
	int result;

	*filter = (struct filter){ .option = option, .source = source };
	if (strlen(source) > FILTER_TEXT)
		return error_set(err, -EINVAL,
				 "--if and --by take an expression of at most %d characters",
				 FILTER_TEXT);
	/* Each word ends with a NUL, where the source has another character. */
	filter->words = calloc(2, strlen(source) + 1);
	if (!filter->words)
		return error_set(err, -ENOMEM, "no memory for %s", option);
	parser.word = filter->words;
	result = take_all(&parser, &filter->root);
	skip_spaces(&parser);
	if (result == 0 && *parser.at)
		result = refuse(&parser, expected);
	if (result)
		filter_deinit(filter);
	return result;
}

int filter_parse(struct filter *filter, const char *source, struct error *err)
{
	return parse(filter, "--if", source, take_or, "there should be &&, || or the end", err);
}

int filter_parse_operand(struct filter *filter, const char *source, struct error *err)
{
	return parse(filter, "--by", source, take_operand,
		     "there should be the end: a parameter, or fields of one", err);
}

bool filter_is_of_end(const struct filter *filter, size_t number)
{
	const struct filter_node *node = &filter->nodes[number];

	switch (node->kind) {
	case FILTER_COMPARE:
		return node->operand != FILTER_PARAMETER && node->operand != FILTER_THREAD;
	case FILTER_NOT:
		return filter_is_of_end(filter, node->left);
	default:
		return filter_is_of_end(filter, node->left) ||
		       filter_is_of_end(filter, node->right);
	}
}

void filter_deinit(struct filter *filter)
{
	free(filter->words);
	*filter = (struct filter){ 0 };
}
