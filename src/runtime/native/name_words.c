// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the words that name_filter.c goes by. Patterns are matched with names without their blanks,
 * so what is one word in a pattern may be several in a name: "voidwork" of "void work<int>()". What
 * the demangler has written of that is in no symbol.
 */
#include "runtime/native/name_words.h"

#include <string.h>

enum {
	WORD_MIN = 2,
	WORD_MAX = 63, /* as much of a longer one; all that is written is shorter */
};

/*
 * All that libiberty's demangler of C++ writes that is no identifier of the symbol, as of binutils
 * 2.44, without digits. More words than it writes cost nothing but a letter or two of a pattern's.
 */
static const char *const written[] = {
	"Class",
	"JArray",
	"TLS",
	"VTT",
	"_Accum",
	"_Complex",
	"_Float",
	"_Fract",
	"_GLOBAL__N_",
	"_Imaginary",
	"_Sat",
	"__float",
	"__int",
	"__vector",
	"_t",
	"abi",
	"alias",
	"alignof",
	"anonymous",
	"arg",
	"array",
	"auto",
	"bfloat",
	"bool",
	"boolean",
	"byte",
	"char",
	"class",
	"clone",
	"co_await",
	"concept",
	"const",
	"const_cast",
	"construction",
	"constructors",
	"covariant",
	"decimal",
	"decltype",
	"default",
	"delete",
	"deleting",
	"destructors",
	"double",
	"dynamic_cast",
	"enum",
	"explicit",
	"false",
	"float",
	"fn",
	"for",
	"friend",
	"function",
	"global",
	"guard",
	"half",
	"hidden",
	"in",
	"init",
	"initializer",
	"int",
	"java",
	"keyed",
	"lambda",
	"literal",
	"long",
	"module",
	"name",
	"namespace",
	"new",
	"noexcept",
	"non",
	"nullptr",
	"object",
	"of",
	"operator",
	"pack",
	"parameter",
	"parm",
	"reference",
	"reinterpret_cast",
	"requires",
	"resource",
	"restrict",
	"return",
	"short",
	"signed",
	"sizeof",
	"static_cast",
	"std",
	"struct",
	"template",
	"temporary",
	"this",
	"thisparm",
	"throw",
	"thunk",
	"to",
	"transaction",
	"transaction_safe",
	"true",
	"type",
	"typeid",
	"typeinfo",
	"typename",
	"union",
	"unnamed",
	"unsigned",
	"variable",
	"virtual",
	"void",
	"volatile",
	"vtable",
	"wchar_t",
	"wrapper",
	"x",

	/* These only behind "::". */
	"allocator",
	"basic_iostream",
	"basic_istream",
	"basic_ostream",
	"basic_string",
	"char_traits",
	"iostream",
	"istream",
	"ostream",
	"string",
};

/* Behind numbers: what follows is never an identifier. */
static const char *const of_numbers[] = { "l", "ll", "u", "ul", "ull" };

/* Those of the first that may have identifiers on both sides, and blanks between: "till const add". */
static const char *const between[] = {
	"_Complex", "_Imaginary",	"const",    "noexcept", "requires", "restrict",
	"throw",    "transaction_safe", "volatile",
};

enum {
	WRITTEN = sizeof(written) / sizeof(written[0]),
	BEHIND_COLONS = 10, /* the last of them */
	BEHIND_BLANKS = WRITTEN - BEHIND_COLONS,
	BETWEEN = sizeof(between) / sizeof(between[0]),
	OF_NUMBERS = sizeof(of_numbers) / sizeof(of_numbers[0]),
};

bool name_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool starts_with(struct name_word word, size_t from, const char *with)
{
	size_t length = strlen(with);

	return length <= word.length - from && memcmp(word.chars + from, with, length) == 0;
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

	for (size_t i = 0; i < WRITTEN; i++) {
		for (const char *end = written[i]; *end; end++)
			reached[strlen(end)] |= starts_with(word, 0, end);
	}
	for (size_t from = 0; from <= word.length; from++) {
		if (!reached[from])
			continue;
		farthest = from;
		for (size_t i = 0; i < WRITTEN; i++) {
			if (starts_with(word, from, written[i]))
				reached[from + strlen(written[i])] = true;
		}
	}
	return farthest;
}

/* How much of the end: the beginning of a word, and whole ones before it. */
static size_t written_behind(struct name_word word)
{
	bool reached[WORD_MAX + 1] = { true };
	size_t farthest = 0;

	for (size_t i = 0; i < BEHIND_BLANKS; i++) {
		for (size_t length = 1; length <= strlen(written[i]); length++)
			reached[length] |= ends_with(word, 0, written[i], length);
	}
	for (size_t behind = 0; behind <= word.length; behind++) {
		if (!reached[behind])
			continue;
		farthest = behind;
		for (size_t i = 0; i < BEHIND_BLANKS; i++) {
			size_t length = strlen(written[i]);

			if (ends_with(word, behind, written[i], length))
				reached[behind + length] = true;
		}
	}
	return farthest;
}

static bool is_within_one(struct name_word word)
{
	for (size_t i = 0; i < OF_NUMBERS; i++) {
		if (memmem(of_numbers[i], strlen(of_numbers[i]), word.chars, word.length))
			return true;
	}
	for (size_t i = 0; i < WRITTEN; i++) {
		if (memmem(written[i], strlen(written[i]), word.chars, word.length))
			return true;
	}
	return false;
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
		for (size_t i = 0; i < BETWEEN; i++) {
			size_t behind = from + strlen(between[i]);

			if (!starts_with(word, from, between[i]) || behind >= word.length)
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
