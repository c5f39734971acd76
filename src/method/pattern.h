/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the user asks for: a pattern over canonical method names (docs: "PATTERNS" in
 * the man page).
 *
 *   Type::Name                 that name: every overload, instantiation and body
 *   Type::Name(int,string)     one overload; C#, IL and CLR spellings of types are equal
 *   Type`1[System.Int32]::Name one instantiation; without brackets all of them
 *   Sys*.Thread::*             glob: * any run, ? one character
 *   /regex/                    PCRE2, searched in the whole canonical name
 *   Image!...                  any of these, in one image only
 *   Image!symbol               in an ELF file: that native function, by its symbol or its demangled
 *                              name, with parameters or without; glob and regex likewise
 */
#ifndef METHOD_PATTERN_H
#define METHOD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "method/method_name.h"

struct error;
struct pattern;

/* What is asked for, as the user has written it. */
struct request {
	char **patterns; /* borrowed */
	size_t count;
	size_t roots; /* of them, the first: traces begin at these methods; 0: nothing is traced */
	bool nested;  /* lambdas and local functions of a matched method too */
};

/* -EINVAL (with what is wrong with @text in @err) or -ENOMEM. Ends with pattern_destroy(). */
int pattern_create(struct pattern **pattern, const char *text, struct error *err);
void pattern_destroy(struct pattern *pattern);

/* As many, in an array that ends with patterns_destroy(). */
int patterns_create(struct pattern ***patterns, char *const *texts, size_t count,
		    struct error *err);
void patterns_destroy(struct pattern **patterns, size_t count);

/* As the user wrote it. */
const char *pattern_text(const struct pattern *pattern);

/* May an image be looked at? @file_name is a file name, with or without extension. */
bool pattern_wants_image(const struct pattern *pattern, const char *file_name);

/* Is it limited to some images? */
bool pattern_has_image(const struct pattern *pattern);

/* Is one of them? */
bool patterns_have_image(struct pattern *const *patterns, size_t count);

/*
 * As one of native functions: may an ELF file of that name be looked at? Does one of the @count
 * names that a function goes by match, blanks aside? 1, 0 or an error as of pattern_matches().
 */
bool pattern_wants_native_image(const struct pattern *pattern, const char *file_name);
int pattern_matches_native(struct pattern *pattern, char *const *names, size_t count,
			   struct error *err);

/*
 * What is in each name of a native function that it matches, blanks aside: characters in a row
 * between '*' and '?'. Maybe none.
 */
const char *pattern_native_literals(const struct pattern *pattern);

/* Why it can be no method's name, only native functions'; NULL if it can. */
const char *pattern_native_only(const struct pattern *pattern);

/* Does it ask for certain parameters? A name whose parameters are not known cannot match then. */
bool pattern_has_params(const struct pattern *pattern);

/*
 * Quick looks before a full name is put together: false means that no method of that
 * type, or none of that name, can match. The type is the open one, without arguments.
 */
bool pattern_wants_type(const struct pattern *pattern, const char *type);
bool pattern_wants_method(const struct pattern *pattern, const char *name);

/*
 * Does the method match? 1, 0, or -E2BIG with @err set where a regex hit PCRE2's match
 * limit, or -ENOMEM.
 */
int pattern_matches(struct pattern *pattern, const struct method_name *name, struct error *err);

/*
 * How far a type and method are from an exact pattern: the sum of both edit distances,
 * or a number above @limit if it is more than that. Only exact patterns have near misses
 * (pattern_is_exact()).
 */
bool pattern_is_exact(const struct pattern *pattern);
unsigned int pattern_type_distance(const struct pattern *pattern, const char *type,
				   unsigned int limit);
unsigned int pattern_method_distance(const struct pattern *pattern, const char *name,
				     unsigned int limit);

#endif
