// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks and delegates: by the fields that the framework has given them, which are looked up by
 * name.
 *
 * Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/Tasks/{Task,
 * Future,ValueTask}.cs, and src/coreclr/System.Private.CoreLib/src/System/Delegate.CoreCLR.cs; the
 * same in .NET 8 to 11, but for a name.
 */
#include "runtime/dotnet/value_types.h"

#include <string.h>

#include "base/cleanup.h"
#include "runtime/dotnet/clr_fields.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/type_spelling.h"

enum { LEVELS_MAX = 32 };

/* m_stateFlags: the first of these that has a bit there is Task.Status. */
static const struct value_member task_states[] = {
	{ "Faulted", 0x200000 },
	{ "Canceled", 0x400000 },
	{ VALUE_TASK_DONE, 0x1000000 },
	{ "WaitingForChildrenToComplete", 0x800000 },
	{ "Running", 0x20000 },
	{ "WaitingToRun", 0x10000 },
	{ "WaitingForActivation", 0x2000000 },
	{ "Created", 0 },
};

static const char task_of_nothing[] = "System.Threading.Tasks.VoidTaskResult";

/* That one of the types that it derives from which has that open name; NULL: it does not. */
static const struct clr_type *find_base(struct type_maker *maker, uint64_t handle, const char *open)
{
	for (unsigned int level = 0; handle && level < LEVELS_MAX; level++) {
		const struct clr_type *type = clr_type_find(&maker->jit->types, handle);
		struct clr_shape shape;

		if (!type || !clr_shape_read(&maker->jit->clr, handle, &shape))
			return NULL;
		if (strcmp(type->open, open) == 0)
			return type;
		handle = shape.parent;
	}
	return NULL;
}

/* Tasks --------------------------------------------------------------------------------------- */

static void rename_task(struct type_maker *maker, struct value_type *type,
			const struct clr_type *base, bool has_result)
{
	_cleanup_(text_deinit) struct text name = { 0 }, spelled = { 0 };

	text_add(&name, has_result ? base->open : "System.Threading.Tasks.Task");
	if (has_result)
		text_printf(&name, "[%s]", base->args);
	spelled_type_add_csharp(&spelled, text_chars(&name), name.length);
	type->name = value_types_name(maker->types, text_chars(&spelled));
	maker->no_memory |= !type->name;
}

/* Its state, and its result if it has one. */
static void make_task(struct type_maker *maker, struct value_type *type, uint64_t handle,
		      const struct value_field *flags)
{
	const struct clr_type *own = clr_type_find(&maker->jit->types, handle);
	const struct clr_type *base = find_base(maker, handle, "System.Threading.Tasks.Task`1");
	const struct value_field *result = base ? value_type_field(type, "m_result") : NULL;
	struct value_field *fields = value_types_take(maker->types, 2 * sizeof(*fields));
	struct value_type *state =
		value_types_add(maker->types, VALUE_STATE, "System.Threading.Tasks.TaskStatus", 4);

	if (!base)
		base = find_base(maker, handle, "System.Threading.Tasks.Task");
	if (!own || !base || !fields || !state || flags->type->kind != VALUE_SIGNED)
		return;
	if (strcmp(base->args, task_of_nothing) == 0)
		result = NULL;
	state->members = task_states;
	state->member_count = sizeof(task_states) / sizeof(task_states[0]);
	fields[0] = (struct value_field){ "state", state, flags->offset };
	if (result)
		fields[1] = (struct value_field){ "result", result->type, result->offset };
	if (own->module == base->module)
		rename_task(maker, type, base, result);
	type->fields = fields;
	type->field_count = result ? 2 : 1;
	type->well_known = VALUE_TASK;
}

/* Delegates ----------------------------------------------------------------------------------- */

/* What of it tells what it calls. */
static void make_delegate(struct type_maker *maker, struct value_type *type, uint64_t handle)
{
	static const char *const names[VALUE_DELEGATE_FIELDS] = {
		[VALUE_DELEGATE_TARGET] = "_target",
		[VALUE_DELEGATE_CODE] = "_methodPtr",
		[VALUE_DELEGATE_OTHER_CODE] = "_methodPtrAux",
		[VALUE_DELEGATE_OTHERS] = "_invocationCount",
	};
	struct value_field *fields =
		value_types_take(maker->types, sizeof(names) / sizeof(names[0]) * sizeof(*fields));

	if (!fields || !find_base(maker, handle, "System.MulticastDelegate"))
		return;
	for (size_t i = 0; i < VALUE_DELEGATE_FIELDS; i++) {
		const struct value_field *field = value_type_field(type, names[i]);

		if (!field && i == VALUE_DELEGATE_OTHERS)
			field = value_type_field(type, VALUE_DELEGATE_EXTRA);
		if (!field)
			return;
		fields[i] = *field;
	}
	type->fields = fields;
	type->field_count = VALUE_DELEGATE_FIELDS;
	type->well_known = VALUE_DELEGATE;
}

void framework_type_of_object(struct type_maker *maker, struct value_type *type, uint64_t handle)
{
	const struct value_field *flags = value_type_field(type, "m_stateFlags");

	if (flags)
		make_task(maker, type, handle, flags);
	else if (value_type_field(type, "_methodPtr"))
		make_delegate(maker, type, handle);
}

void framework_type_of_struct(struct value_type *type, const char *name, size_t length)
{
	static const char open[] = "System.Threading.Tasks.ValueTask`1";
	bool has_result = length == sizeof(open) - 1;

	if (memcmp(name, open, length < sizeof(open) ? length : sizeof(open)) == 0 &&
	    (has_result || length == sizeof(open) - 3) && value_type_field(type, "_obj") &&
	    (!has_result || value_type_field(type, "_result")))
		type->well_known = VALUE_VALUE_TASK;
}
