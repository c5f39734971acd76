/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calls are called for --watch: without parameters, as the instantiation they are of. */
#ifndef SESSION_CALL_NAME_H
#define SESSION_CALL_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "value/value.h"

/* Names by what tells shared code which instantiation it is called for; all 0 in the beginning. */
struct call_names {
	void *by_context; /* struct known_context */
	size_t count;
};

void call_names_deinit(struct call_names *names);

/* "f(int) const" is "f", and what has no parameter list is as it is. */
void call_name_add_plain(struct text *out, const char *method);

/*
 * The same of the instantiation that a call of shared code is of: @context is what it was told, as
 * @is says. False, and nothing is appended, if that is not known.
 */
bool call_name_add_instance(struct call_names *names, const struct runtimes *runtimes,
			    enum runtime_id id, const char *method, enum value_context is,
			    uint64_t context, struct text *out);

/* The same of the method that is called by going to @code. */
bool call_name_add_code(struct call_names *names, const struct runtimes *runtimes,
			enum runtime_id id, uint64_t code, struct text *out);

#endif
