// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the words that name_filter.c goes by. Patterns are matched with names without their blanks,
 * so what is one word in a pattern may be several in a name: "voidwork" of "void work<int>()". What
 * the demangler has written of that is in no symbol.
 */
#include "runtime/native/name_filter.h"

#include <string.h>

enum {
	WORD_MIN = 2,
	WORD_MAX = 63, /* as much of a longer one; all that is written is shorter */
};

/*
 * All that libiberty's demangler of C++ writes that is no identifier of the symbol, as of binutils
 * 2.44, without digits. More words than it writes cost nothing but a letter or two of a pattern's.
 * What comes first only does so behind "::".
 */
#define BEHIND_COLONS                                                                             \
	"allocator basic_iostream basic_istream basic_ostream basic_string char_traits iostream " \
	"istream ostream string "
static const char written[] = BEHIND_COLONS
	"Class JArray TLS VTT _Accum _Complex _Float _Fract _GLOBAL__N_ _Imaginary _Sat __float "
	"__int __vector _t abi alias alignof anonymous arg array auto bfloat bool boolean byte "
	"char class clone co_await concept const const_cast construction constructors covariant "
	"decimal decltype default delete deleting destructors double dynamic_cast enum explicit "
	"false float fn for friend function global guard half hidden in init initializer int java "
	"keyed lambda literal long module name namespace new noexcept non nullptr object of "
	"operator pack parameter parm reference reinterpret_cast requires resource restrict "
	"return short signed sizeof static_cast std struct template temporary this thisparm throw "
	"thunk to transaction transaction_safe true type typeid typeinfo typename union unnamed "
	"unsigned variable virtual void volatile vtable wchar_t wrapper x";

/* Those that are not only written behind "::". */
static const char *const behind_blanks = written + sizeof(BEHIND_COLONS) - 1;

/* Behind numbers: what follows is never an identifier. */
static const char of_numbers[] = "l ll u ul ull";

/* Those of the first that may have identifiers on both sides, and blanks between: "till const add". */
static const char between[] =
	"_Complex _Imaginary const noexcept requires restrict throw transaction_safe volatile";

bool name_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The next word of such a list; the first is behind one of no length. False: there is none. */
static bool next_word(struct name_word *word)
{
	word->chars += word->length;
	word->chars += strspn(word->chars, " ");
	word->length = strcspn(word->chars, " ");
	return word->length > 0;
}

static bool starts_with(struct name_word word, size_t from, struct name_word with)
{
	return with.length <= word.length - from &&
	       memcmp(word.chars + from, with.chars, with.length) == 0;
}

/* But for the last @behind characters, does it end with @length of @with? */
static bool ends_with(struct name_word word, size_t behind, const char *with, size_t length)
{
	return length <= word.length - behind &&
	       memcmp(word.chars + word.length - behind - length, with, length) == 0;
}

/* How much of the beginning may be written: the end of a word, and whole ones behind it. */
static size_t written_before(struct name_word word)
{
	bool reached[WORD_MAX + 1] = { true };
	size_t farthest = 0;

	for (struct name_word one = { written, 0 }; next_word(&one);) {
		for (struct name_word end = one; end.length; end.chars++, end.length--)
			reached[end.length] |= starts_with(word, 0, end);
	}
	for (size_t from = 0; from <= word.length; from++) {
		if (!reached[from])
			continue;
		farthest = from;
		for (struct name_word one = { written, 0 }; next_word(&one);) {
			if (starts_with(word, from, one))
				reached[from + one.length] = true;
		}
	}
	return farthest;
}

/* How much of the end: the beginning of a word, and whole ones before it. */
static size_t written_behind(struct name_word word)
{
	bool reached[WORD_MAX + 1] = { true };
	size_t farthest = 0;

	for (struct name_word one = { behind_blanks, 0 }; next_word(&one);) {
		for (size_t length = 1; length <= one.length; length++)
			reached[length] |= ends_with(word, 0, one.chars, length);
	}
	for (size_t behind = 0; behind <= word.length; behind++) {
		if (!reached[behind])
			continue;
		farthest = behind;
		for (struct name_word one = { behind_blanks, 0 }; next_word(&one);) {
			if (ends_with(word, behind, one.chars, one.length))
				reached[behind + one.length] = true;
		}
	}
	return farthest;
}

/* No word has a blank in it. */
static bool is_within_one(struct name_word word)
{
	return memmem(of_numbers, strlen(of_numbers), word.chars, word.length) ||
	       memmem(written, strlen(written), word.chars, word.length);
}

/* Too many are as good as these. */
static void add(struct name_words *words, struct name_word word)
{
	size_t place = words->count;

	if (words->count == NAME_WORDS_MAX)
		return;
	while (place && words->list[place - 1].length < word.length) {
		words->list[place] = words->list[place - 1];
		place--;
	}
	words->list[place] = word;
	words->count++;
}

static void add_core(struct name_words *words, struct name_word word)
{
	size_t before = written_before(word), behind = written_behind(word);

	if (before + behind + WORD_MIN <= word.length && !is_within_one(word))
		add(words,
		    (struct name_word){ word.chars + before, word.length - before - behind });
}

/* What stands between identifiers divides. */
static void add_word(struct name_words *words, struct name_word word)
{
	for (size_t from = 1; from < word.length; from++) {
		for (struct name_word one = { between, 0 }; next_word(&one);) {
			size_t behind = from + one.length;

			if (!starts_with(word, from, one) || behind >= word.length)
				continue;
			add_core(words, (struct name_word){ word.chars, from });
			add_word(words,
				 (struct name_word){ word.chars + behind, word.length - behind });
			return;
		}
	}
	add_core(words, word);
}

void name_words_find(struct name_words *words, const char *literals)
{
	*words = (struct name_words){ .count = 0 };
	while (*literals) {
		size_t length = 0;

		while (length < WORD_MAX && name_is_letter(literals[length]))
			length++;
		if (length)
			add_word(words, (struct name_word){ literals, length });
		literals += length ? length : 1;
	}
}
