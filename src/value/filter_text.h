/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What filter.c says and compares with, apart from what it compiles;
 * and what it looks up by name.
 */
#ifndef VALUE_FILTER_TEXT_H
#define VALUE_FILTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct filter;
struct filter_node;
struct value_field;
struct value_signature;
struct value_type;
struct watch_constant;

/*
 * @text, of @size bytes, as .NET has it, or as C does, with the NUL that ends it. False: it is too
 * long. @size is 0 before.
 */
bool filter_as_utf16(const char *text, struct watch_constant *constant, size_t *size);
bool filter_as_bytes(const char *text, struct watch_constant *constant, size_t *size);

/* -EINVAL with @err set: a name that there is not, with those that there are. */
int filter_refuse_parameter(const struct filter *filter, const struct filter_node *node,
			    const char *method, const struct value_signature *signature,
			    struct error *err);
int filter_refuse_field(const struct filter *filter, const struct filter_node *node,
			const struct value_type *type, const char *name, struct error *err);

/* Of an enum; of a struct or object. False, NULL: there is none of that name. */
bool filter_find_member(const struct value_type *type, const char *name, uint64_t *value);
const struct value_field *filter_find_field(const struct value_type *type, const char *name);

#endif
