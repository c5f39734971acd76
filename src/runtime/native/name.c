// SPDX-License-Identifier: GPL-2.0-or-later
/* A native function's names, for find.c and exits.c. */
#include "runtime/native/name.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/native/symbols.h"

/* DMGL_AUTO alone: a name without parameters. */
enum {
	WITHOUT_RETURN = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO | DMGL_RET_DROP,
	WITHOUT_PARAMS = DMGL_ANSI | DMGL_AUTO,
};

bool native_name_is_part(const char *symbol)
{
	return strstr(symbol, ".cold") != NULL;
}

/* How much of @symbol is the name itself. */
static size_t plain_length(const char *symbol)
{
	static const char *const marks[] = { "@", ".constprop.", ".isra.", ".lto_priv.", ".llvm." };
	size_t length = strlen(symbol);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *mark = strstr(symbol, marks[i]);

		if (mark && mark > symbol && (size_t)(mark - symbol) < length)
			length = (size_t)(mark - symbol);
	}
	return length;
}

/*
 * How much of a name people need: "memcpy" of "memcpy@@GLIBC_2.14", which is the version that is
 * linked to, and all of "memcpy@GLIBC_2.2.5", which is not.
 */
static size_t shown_length(const char *symbol)
{
	const char *version = strstr(symbol, "@@");

	return version && version > symbol ? (size_t)(version - symbol) : strlen(symbol);
}

/* Takes over @form, which may be NULL. */
static void add_form(struct native_name *name, char *form)
{
	for (size_t i = 0; form && i < name->count; i++) {
		if (strcmp(name->forms[i], form) == 0) {
			free(form);
			return;
		}
	}
	if (form)
		name->forms[name->count++] = form;
}

/*
 * A destructor that frees its object as well ("D0") calls the other one: as one method, such calls
 * would be counted twice.
 */
static bool is_deleting(const char *plain)
{
	size_t length = strlen(plain);

	return length > 4 && strcmp(plain + length - 4, "D0Ev") == 0;
}

static void clear(struct native_name *name)
{
	for (size_t i = 0; i < name->count; i++)
		free(name->forms[i]);
	name->count = 0;
	text_clear(&name->shown);
}

int native_name_read(struct native_name *name, const char *symbol)
{
	_cleanup_free_ char *plain = strndup(symbol, plain_length(symbol)), *demangled = NULL;
	bool mangled;

	clear(name);
	if (!plain)
		return -ENOMEM;
	mangled = strncmp(plain, "_Z", 2) == 0 || strncmp(plain, "_R", 2) == 0;
	demangled = mangled ? native_symbol_demangle(symbol) : NULL;
	text_add_printable(&name->shown, demangled ? demangled : symbol);
	text_cut(&name->shown, shown_length(text_chars(&name->shown)));
	if (mangled && is_deleting(plain))
		text_add(&name->shown, " [deleting]");
	add_form(name, strdup(symbol));
	/* With this the name is not: it is asked for by its symbol, or by what is shown. */
	if (mangled && is_deleting(plain)) {
		add_form(name, strdup(text_chars(&name->shown)));
		return name->count == 2 && text_ok(&name->shown) ? 0 : -ENOMEM;
	}
	if (mangled) {
		add_form(name, native_symbol_demangle(plain));
		add_form(name, cplus_demangle(plain, WITHOUT_RETURN));
		add_form(name, cplus_demangle(plain, WITHOUT_PARAMS));
	}
	add_form(name, cleanup_take(plain));
	return name->count && text_ok(&name->shown) ? 0 : -ENOMEM;
}

void native_name_deinit(struct native_name *name)
{
	clear(name);
	text_deinit(&name->shown);
}
