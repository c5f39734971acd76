// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Between a pattern and the symbols of a file, for find.c.
 *
 * Blanks are left out when names are matched, so two identifiers may meet in a word of the pattern:
 * "Tillwork" of "Till work<int>()", where the one is the end of what a template returns, or of a
 * member's type, and the other begins the name, or the class. Then the word is in the symbol in two
 * pieces, of which one holds the word's first half or the other its second; and the second piece
 * begins an identifier, so it comes behind a number. No third meets them there, but for qualifiers
 * of vendors ("U3AS1").
 */
#include "runtime/native/name_filter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

enum {
	LANES = 16,
	PIECE_BYTES = 64 << 10, /* of a table of names: it stays in the nearest cache */
	ESCAPE_BYTES = 5,	/* "$u20$" */
};

typedef uint8_t lanes __attribute__((vector_size(LANES)));

/* Letters as they are in the names of Node.js, the most frequent first. */
static size_t rarity(char c)
{
	static const char letters[] = "e_tEraiSnoNscldpImuRbvhgPZfOTACLyBDGKFkMxVJwjUHzWqXQY";

	return strcspn(letters, (char[]){ c, '\0' });
}

/* Of @length characters the two next to each other that are rarest; of one that and anything. */
static void take_pair(char pair[2], const char *chars, size_t length)
{
	size_t best = 0;

	pair[0] = chars[0];
	for (size_t i = 0; i + 1 < length; i++) {
		size_t rare = rarity(chars[i]) + rarity(chars[i + 1]);

		if (i && rare <= best)
			continue;
		best = rare;
		memcpy(pair, chars + i, 2);
	}
}

void name_filter_init(struct name_filter *filter, const char *literals)
{
	const struct name_word *word = filter->words.list;
	size_t half;

	*filter = (struct name_filter){ .pairs = { { 0 } } };
	name_words_find(&filter->words, literals);
	if (!filter->words.count)
		return;
	half = word->length / 2;
	take_pair(filter->pairs[0], word->chars, half);
	take_pair(filter->pairs[1], word->chars + half, word->length - half);
}

static lanes all(char c)
{
	return (lanes){ 0 } + (uint8_t)c;
}

/* Where the first of a pair is in @here and the second in @next. */
static lanes pair_in(lanes here, lanes next, const char pair[2])
{
	lanes first = (lanes)(here == all(pair[0]));

	return pair[1] ? first & (lanes)(next == all(pair[1])) : first;
}

/* Characters that ask for a closer look: blanks, escapes of Rust, qualifiers of vendors. */
static lanes unusual(lanes here, lanes next)
{
	return (lanes)(here == all(' ')) | (lanes)(here == all('$')) |
	       ((lanes)(here == all('U')) & (lanes)((lanes)(next - all('0')) < all(10)));
}

/* What a name has, as far as one look over it tells. */
struct glance {
	bool first; /* the pair of the longest word's first half */
	bool second;
	bool unusual;
};

static bool any(lanes found)
{
	uint64_t words[LANES / sizeof(uint64_t)];

	memcpy(words, &found, sizeof(words));
	return (words[0] | words[1]) != 0;
}

/* The lanes @at, and those one further on; behind the @left bytes that there are come NULs. */
static void load(lanes *here, lanes *next, const void *at, size_t left)
{
	uint8_t bytes[LANES + 1] = { 0 };

	if (left < sizeof(bytes))
		at = memcpy(bytes, at, left);
	memcpy(here, at, LANES);
	memcpy(next, (const uint8_t *)at + 1, LANES);
}

/* For most names of a file that is all that is done, so it is quick. */
static struct glance look_over(const struct name_filter *filter, const char *name, size_t length)
{
	lanes first = { 0 }, second = { 0 }, strange = { 0 };

	for (size_t done = 0; done < length; done += LANES) {
		lanes here, next;

		/* With the NUL, which is next to the last character. */
		load(&here, &next, name + done, length + 1 - done);
		first |= pair_in(here, next, filter->pairs[0]);
		second |= pair_in(here, next, filter->pairs[1]);
		strange |= unusual(here, next);
	}
	return (struct glance){ any(first), any(second), any(strange) };
}

/* Where there is what a name must have somewhere, to pass. */
static lanes of_interest(const struct name_filter *filter, lanes here, lanes next)
{
	/* Newer names of Rust begin so. */
	static const char rust[2] = { '_', 'R' };

	return pair_in(here, next, filter->pairs[0]) | pair_in(here, next, filter->pairs[1]) |
	       unusual(here, next) | pair_in(here, next, rust);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A vendor's qualifier, or a blank: what the rest is told by does not hold. */
static bool is_strange(const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || (*name == 'U' && is_digit(name[1])))
			return true;
	}
	return false;
}

static bool holds(const char *name, size_t length, struct name_word word)
{
	return memmem(name, length, word.chars, word.length) != NULL;
}

static bool goes_on(const char *name, struct name_word word, size_t from)
{
	while (from < word.length && *name == word.chars[from]) {
		name++;
		from++;
	}
	return from == word.length;
}

/* In two pieces, of which the second begins at one of its characters from @from to @to? */
static bool holds_in_two(const char *name, size_t length, struct name_word word, size_t from,
			 size_t to)
{
	for (const char *at = name; *at; at++) {
		if (!is_digit(at[0]) || !name_is_letter(at[1]))
			continue;
		for (size_t i = from; i <= to; i++) {
			if (goes_on(at + 1, word, i) &&
			    holds(name, length, (struct name_word){ word.chars, i }))
				return true;
		}
	}
	return false;
}

static bool may_hold_longest(const struct glance *glance, const char *name, size_t length,
			     struct name_word word)
{
	size_t half = word.length / 2, last = word.length - 1;

	return (glance->first && glance->second && holds(name, length, word)) ||
	       holds_in_two(name, length, word, glance->second ? 1 : half,
			    glance->first ? last : half);
}

/* Is a letter escaped ("$u61$")? No compiler does that. */
static bool escapes_letter(const char *name)
{
	while ((name = strstr(name, "$u"))) {
		int high = text_hex_digit(name[2]), low = high < 0 ? -1 : text_hex_digit(name[3]);

		if (low >= 0 && name_is_letter((char)(high << 4 | low)))
			return true;
		name += 2;
	}
	return false;
}

/* As before 2019's names of Rust are written: a blank is an escape as any other. */
static bool holds_around_blanks(const char *name, struct name_word word)
{
	for (; *name; name++) {
		const char *at = name;
		size_t i = 0;

		while (i < word.length && *at == word.chars[i]) {
			i++;
			at++;
			while (strncmp(at, "$u20$", ESCAPE_BYTES) == 0)
				at += ESCAPE_BYTES;
		}
		if (i == word.length)
			return true;
	}
	return false;
}

/* The words from number @first on; @escaped: it has escapes, as names of Rust before 2019. */
static bool may_hold(const struct name_words *words, size_t first, const char *name, size_t length,
		     bool escaped)
{
	for (size_t i = first; i < words->count; i++) {
		const struct name_word word = words->list[i];

		if (!(escaped ? holds_around_blanks(name, word) : holds(name, length, word)) &&
		    !holds_in_two(name, length, word, 1, word.length - 1))
			return false;
	}
	return true;
}

bool name_filter_passes(const struct name_filter *filter, const char *symbol)
{
	const struct name_words *words = &filter->words;
	struct glance glance;
	size_t length;

	/* Newer names of Rust have words of their own, and letters written as numbers. */
	if (!words->count || (symbol[0] == '_' && symbol[1] == 'R'))
		return true;
	length = strlen(symbol);
	glance = look_over(filter, symbol, length);
	if (glance.unusual)
		return is_strange(symbol) || escapes_letter(symbol) ||
		       may_hold(words, 0, symbol, length, true);
	return (glance.first || glance.second) &&
	       may_hold_longest(&glance, symbol, length, words->list[0]) &&
	       may_hold(words, 1, symbol, length, false);
}

/* Tables of names --------------------------------------------------------------------------- */

static void mark(uint8_t *marks, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		marks[i / 8] |= (uint8_t)(1U << i % 8);
}

/*
 * One that begins @at. What it has not, no name within it has; but that newer names of Rust pass in
 * any case is told by how they begin.
 */
static void scan_name(const struct name_filter *filter, uint8_t *marks, const char *name,
		      size_t length, size_t at)
{
	if (name_filter_passes(filter, name)) {
		mark(marks, at, at + length);
		return;
	}
	for (size_t i = 0; i + 1 < length; i++) {
		if (name[i] == '_' && name[i + 1] == 'R')
			mark(marks, at + i, at + i + 1);
	}
}

/* Names that begin @at. A file that is changed meanwhile may have unterminated the last. */
static void scan_names(const struct name_filter *filter, uint8_t *marks, struct span names,
		       size_t at)
{
	const uint8_t *bytes = names.start;

	for (size_t i = 0; i < names.size;) {
		lanes here, next, found;
		size_t begin = i, end;

		load(&here, &next, bytes + i, names.size - i);
		found = of_interest(filter, here, next);
		i += LANES;
		if (!any(found))
			continue;
		while (!found[begin - (i - LANES)])
			begin++;
		end = begin + strnlen((const char *)bytes + begin, names.size - begin);
		while (begin && bytes[begin - 1])
			begin--;
		scan_name(filter, marks, (const char *)bytes + begin, end - begin, at + begin);
		i = end + 1;
	}
}

/* As many whole names as fit in @buffer, from @at on; the mapped ones if they cannot be read. */
static struct span read_piece(const struct name_table *table, size_t at, uint8_t *buffer)
{
	const struct span rest = { table->names.start + at, table->names.size - at };
	size_t wanted = rest.size < PIECE_BYTES ? rest.size : PIECE_BYTES;
	const uint8_t *last;

	if (table->fd < 0 ||
	    pread(table->fd, buffer, wanted, (off_t)(table->offset + at)) != (ssize_t)wanted)
		return rest;
	last = memrchr(buffer, 0, wanted);
	return last ? (struct span){ buffer, (size_t)(last - buffer) + 1 } : rest;
}

uint8_t *name_filter_scan(const struct name_filter *filter, const struct name_table *table)
{
	_cleanup_free_ uint8_t *buffer = NULL, *marks = NULL;

	if (!filter->words.count || !table->names.size)
		return NULL;
	marks = calloc(1, table->names.size / 8 + 1);
	buffer = malloc(PIECE_BYTES);
	if (!buffer || !marks)
		return NULL;
	for (size_t at = 0; at < table->names.size;) {
		const struct span piece = read_piece(table, at, buffer);

		scan_names(filter, marks, piece, at);
		at += piece.size;
	}
	return cleanup_take(marks);
}
