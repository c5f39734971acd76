/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that print values share. */
#ifndef VALUE_PRINT_H
#define VALUE_PRINT_H

#include "base/text.h"
#include "value/capture.h"

/* The items of one program, by slot. */
struct items {
	const struct watch_item **by_slot; /* their bytes follow; NULL: there is none */
	uint16_t count;
};

struct printer {
	const struct value_watch *watch;
	uint64_t context; /* handle of the type of a struct that is `this`; 0: as declared */
	const struct items *items;
	const struct value_lookup *lookup;
	struct text *out;
	bool json;
	unsigned int nesting;
	const struct captured *of; /* the argument or result that is being printed */
	size_t number;		   /* its number, for struct value_seen */
};

/* The bytes of a value, or of a part of one. */
struct view {
	const uint8_t *bytes;
	size_t size;
	const struct captured *in_parts; /* not NULL: they are in parts of this one, from: */
	uint32_t offset;
};

/* Why bytes are not there. */
enum view_problem {
	VIEW_OK,
	VIEW_FAULT,
	VIEW_NO_ROOM,
	VIEW_MISSING,
	VIEW_FLOAT, /* to + 15: in that register */
};

const struct watch_item *items_get(const struct items *items, uint16_t slot);

/* Copy @size bytes at @offset; what is not there is 0. */
enum view_problem view_read(const struct items *items, const struct view *view, uint32_t offset,
			    void *to, size_t size);

/* The bytes of an item. */
enum view_problem view_of_item(const struct items *items, uint16_t slot, struct view *view);

/* Those of the object that @capture, which may be NULL, has; and the handle of its type. */
enum view_problem view_of_object(const struct items *items, const struct capture *capture,
				 struct view *view, uint64_t *handle);

struct view view_at(const struct view *view, uint32_t offset);

/* Append with escapes as JSON has them; nothing that a terminal would act on is left. */
void print_utf8(struct text *out, const char *s);
void print_utf16(struct text *out, const uint8_t *bytes, size_t units);
void print_bytes(struct text *out, const uint8_t *bytes, size_t size);

/*
 * So in quotes those @units of a string that is of @length of them; and that it is cut, if it is.
 */
void print_string(struct text *out, bool json, const uint8_t *bytes, size_t units, uint64_t length);

/* A value that has a spelling of its own: `2024-05-01T00:00:00Z`. @bytes are of its size. */
bool print_well_known(struct text *out, enum value_well_known which, const uint8_t *bytes,
		      size_t size);
void print_float(struct printer *printer, const uint8_t *bytes, size_t size);

/* `<why>`, or "unavailable":"why". */
void print_unavailable(struct printer *printer, const char *why);
void print_problem(struct printer *printer, enum view_problem problem);

/* As view_read(); false if there is a problem, which is printed. */
bool print_read(struct printer *printer, const struct view *view, uint32_t offset, void *to,
		size_t size);

/* JSON alone: "type":"int", which stands before what follows. */
void print_type(struct printer *printer, const char *name);

/* What comes next is called so: `id: `, or {"name":"id", */
void print_name(struct printer *printer, const char *name);

/* JSON alone: "value": */
void print_value_key(struct printer *printer);

/* @capture is what is known beside its bytes, or NULL. In JSON what stands within { and }. */
void print_value(struct printer *printer, const struct value_type *type, const struct view *view,
		 const struct capture *capture);

/* Of those whose value is an address, once it is known not to be 0; spans (print_pointed.c). */
void print_pointed(struct printer *printer, const struct value_type *type,
		   const struct capture *capture);
void print_span(struct printer *printer, const struct value_type *type, const struct view *view,
		const struct capture *capture);

/* What stands before and behind the fields of a struct or object. */
void print_begin_fields(struct printer *printer, const struct value_type *type);
void print_end_fields(struct printer *printer, const struct value_type *type);

/* All of that, and the fields; @header is how many bytes of @view stand before them. */
void print_fields(struct printer *printer, const struct value_type *type, const struct view *view,
		  const struct capture *capture, uint32_t header);

/* Tasks, whose fields are shown as far as they have been set, and delegates (print_framework.c). */
void print_value_task(struct printer *printer, const struct value_type *type,
		      const struct view *view, const struct capture *capture);
void print_task(struct printer *printer, const struct value_type *type, const struct view *view,
		const struct capture *capture);
void print_delegate(struct printer *printer, const struct value_type *type, const struct view *view,
		    const struct capture *capture);

/* What an object is of, as its runtime knows it; else as it was @declared. */
const struct value_type *print_actual_type(const struct printer *printer,
					   const struct value_type *declared, uint64_t handle);

/* Which of the states of a VALUE_STATE @number is; NULL: none. */
const struct value_member *value_state_of(const struct value_type *type, uint64_t number);

/* Go one level further in, unless it is too far: then that is printed. */
bool print_enter(struct printer *printer);

#endif
