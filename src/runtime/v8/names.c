// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a call is called in a stack trace, as `new Error().stack` spells it: "Class.method",
 * "new Class", "Object.<anonymous>", "Timeout.tick [as _onTimeout]". It depends on what the
 * function was called on, which is on the stack too.
 *
 * Source: V8's src/objects/call-site-info.cc, JSReceiver::GetConstructorName().
 */
#include "runtime/v8/frame_internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "runtime/v8/js_string.h"
#include "runtime/v8/properties.h"

enum { BUDGET = 4096 /* properties that are looked at for one name */ };

struct naming {
	const struct v8_heap *heap;
	const struct v8_call *call;
	bool moving; /* objects are */
	unsigned int budget;
	struct text function; /* "": it has none */
	struct text type;     /* of the receiver; "": not known */
	uint64_t map;	      /* of the receiver; 0: it is no object, or not known */
	uint64_t closure;     /* 0: not known */
	struct text method;   /* the property of the receiver that the function is; "": none */
	struct v8_frames *out;
	bool failed;
};

static bool add(struct naming *naming, uint64_t string, struct text *out)
{
	if (v8_string_length(naming->heap, string) == 0) {
		naming->failed |= v8_is_lost(naming->heap, string);
		return false;
	}
	if (!v8_string_add(naming->heap, string, V8_NAME_MAX, out))
		naming->failed = true;
	return true;
}

/* What the own property called @name holds; false: there is none, or it is an accessor. */
static bool own_value(struct naming *naming, uint64_t object, const char *name, bool symbol,
		      uint64_t *value)
{
	struct v8_property property;

	if (!v8_own_property(naming->heap, object, name, symbol, &naming->budget, &property) ||
	    property.is_accessor)
		return false;
	*value = property.value;
	return true;
}

/* The function's name --------------------------------------------------------------------- */

/*
 * What a function is called in its source, or by what it is assigned to; not so where the name may
 * be lost that it was given as it was made.
 */
static uint64_t source_name(struct naming *naming, uint64_t closure,
			    const struct v8_function *function)
{
	bool lost = closure ? naming->call->stale && v8_has_lost_properties(naming->heap, closure,
									    &naming->budget) :
			      naming->call->moved;

	return lost ? function->name : v8_function_known_as(function);
}

/* What a closure is called: by its property "name" if that was changed, else as in its source. */
static bool add_closure_name(struct naming *naming, uint64_t closure, bool said, struct text *out)
{
	struct v8_function function;
	uint64_t name;

	if (said && own_value(naming, closure, "name", false, &name)) {
		/* Zero: it cannot be read. */
		naming->failed |= v8_is_lost(naming->heap, name) || (naming->call->stale && !name);
		if (v8_is_string(naming->heap, name))
			return add(naming, name, out);
	}
	return v8_function_of(naming->heap, closure, &function) &&
	       add(naming, source_name(naming, closure, &function), out);
}

/* What initialises the members of a class, and is none of them. */
static const char *initializer(const struct naming *naming)
{
	const int32_t *at = naming->heap->layout->at;
	int32_t kind = naming->call->function->kind;

	return kind == at[V8_KIND_MEMBERS] ? "<instance_members_initializer>" :
	       kind == at[V8_KIND_STATICS] ? "<static_initializer>" :
					     NULL;
}

static void find_function_name(struct naming *naming)
{
	const struct v8_call *call = naming->call;
	bool found = true;

	if (initializer(naming))
		text_add(&naming->function, initializer(naming));
	else if (naming->closure && call->function->builtin < 0)
		found = add_closure_name(naming, naming->closure, true, &naming->function);
	else
		found = add(naming, source_name(naming, 0, call->function), &naming->function);
	if (!found && v8_script_is_eval(naming->heap, call->function->script))
		text_add(&naming->function, "eval");
}

/* The receiver's type ---------------------------------------------------------------------- */

/* Constructors of plain objects say nothing. */
static bool add_constructor(struct naming *naming, uint64_t constructor)
{
	bool said = naming->heap->layout->at[V8_NAMES_CONSTRUCTORS_SAID];

	if (!v8_is_function(naming->heap, constructor))
		return false;
	text_clear(&naming->type);
	if (add_closure_name(naming, constructor, said, &naming->type) &&
	    strcmp(text_chars(&naming->type), "Object") != 0)
		return true;
	text_clear(&naming->type);
	return false;
}

/* The receiver, or where it has moved what it inherits from: the first object with properties. */
static uint64_t first_object(const struct naming *naming)
{
	uint64_t receiver = naming->call->receiver;

	return receiver ? receiver : v8_map_prototype(naming->heap, naming->map);
}

static bool add_inherited(struct naming *naming, uint64_t receiver)
{
	uint64_t object = first_object(naming);
	uint64_t value;

	naming->out->by_object |= v8_map_may_have(naming->heap, naming->map, NULL);
	for (unsigned int i = 0; object && i < V8_PROTOTYPES_MAX; i++) {
		if (own_value(naming, object, "Symbol.toStringTag", true, &value) &&
		    add(naming, value, &naming->type))
			return true;
		if (object != receiver && own_value(naming, object, "constructor", false, &value) &&
		    add_constructor(naming, value))
			return true;
		object = v8_prototype(naming->heap, object);
	}
	return false;
}

/* Of a function: its own name, as static methods are called on classes. */
static bool add_class(struct naming *naming, uint64_t receiver)
{
	struct v8_function function;
	int32_t named = naming->heap->layout->at[V8_NAMES_FUNCTIONS];

	naming->out->by_object = true;
	if (!v8_function_of(naming->heap, receiver, &function) ||
	    named < (v8_function_is_class(&function) ? 1 : 2))
		return false;
	return add_closure_name(naming, receiver, true, &naming->type);
}

static const char *primitive_type(const int32_t *at, int type)
{
	if (type >= 0 && type < at[V8_TYPE_NONSTRING])
		return "String";
	return type == at[V8_TYPE_HEAP_NUMBER] ? "Number" :
	       type == at[V8_TYPE_SYMBOL]      ? "Symbol" :
	       type == at[V8_TYPE_BIGINT]      ? "BigInt" :
	       type == at[V8_TYPE_ODDBALL]     ? "Boolean" :
						 NULL;
}

static void find_type(struct naming *naming)
{
	const struct v8_heap *heap = naming->heap;
	const int32_t *at = heap->layout->at;
	uint64_t receiver = naming->call->receiver;
	int type = v8_map_type(heap, naming->map);
	bool is_function = v8_is_function_type(heap, type);
	const char *primitive;

	/* Which function is not known: then there is nothing to be said. */
	if (!receiver && is_function)
		return;
	if (type < at[V8_TYPE_PROXY]) {
		primitive = naming->map ? primitive_type(at, type) : "Number";
		if (primitive)
			text_add(&naming->type, primitive);
	} else if (type == at[V8_TYPE_PROXY]) {
		text_add(&naming->type, "Proxy");
	} else if (!(is_function && add_class(naming, receiver)) &&
		   !add_constructor(naming, v8_map_constructor(heap, naming->map)) &&
		   (receiver || !v8_map_may_have(heap, naming->map, NULL))) {
		/* A constructor that is being moved is not found, as that of a plain object. */
		naming->out->plain |= naming->moving;
		if (!naming->moving && !add_inherited(naming, receiver))
			text_add(&naming->type, is_function ? "Function" : "Object");
	}
}

/* The method's name ------------------------------------------------------------------------ */

static bool is_the_function(const struct naming *naming, const struct v8_property *property)
{
	uint64_t closure = naming->closure;

	if (property->value == closure)
		return true;
	return v8_is(naming->heap, property->value, V8_TYPE_ACCESSOR_PAIR) &&
	       (v8_field(naming->heap, property->value, V8_PAIR_GETTER) == closure ||
		v8_word(naming->heap, property->value,
			naming->heap->layout->at[V8_PAIR_GETTER] + 8) == closure);
}

/* As it is called itself; getters and setters are without what the language puts before. */
static bool find_by_name(struct naming *naming, const char *name)
{
	uint64_t object = first_object(naming);
	struct v8_property property;

	naming->out->by_object |= v8_map_may_have(naming->heap, naming->map, name);
	for (unsigned int i = 0; object && i < V8_PROTOTYPES_MAX; i++) {
		if (v8_own_property(naming->heap, object, name, false, &naming->budget, &property))
			return is_the_function(naming, &property);
		object = v8_prototype(naming->heap, object);
	}
	return false;
}

struct inference {
	struct naming *naming;
	uint64_t key; /* 0: none yet */
	bool several;
};

static bool infer(void *ctx, const struct v8_property *property)
{
	struct inference *inference = ctx;

	if (!property->is_enumerable || !v8_is_string(inference->naming->heap, property->key) ||
	    !is_the_function(inference->naming, property))
		return true;
	inference->several |= inference->key && inference->key != property->key;
	inference->key = property->key;
	return true;
}

static void find_by_value(struct naming *naming)
{
	struct inference inference = { .naming = naming };
	uint64_t object = first_object(naming);

	if (v8_map_may_have(naming->heap, naming->map, NULL)) {
		naming->out->by_object = true;
		if (!naming->call->receiver)
			return;
	}
	for (unsigned int i = 0; object && i < V8_PROTOTYPES_MAX; i++) {
		v8_each_property(naming->heap, object, &naming->budget, infer, &inference);
		object = v8_prototype(naming->heap, object);
	}
	if (inference.key && !inference.several)
		(void)add(naming, inference.key, &naming->method);
}

static void find_method(struct naming *naming)
{
	_cleanup_(text_deinit) struct text own = { 0 };
	const char *name;

	if (initializer(naming) || !naming->closure ||
	    !v8_map_is_receiver(naming->heap, naming->map))
		return;
	(void)add(naming, naming->call->function->name, &own);
	name = text_chars(&own);
	if (strncmp(name, "get ", 4) == 0 || strncmp(name, "set ", 4) == 0)
		name += 4;
	if (*name && find_by_name(naming, name))
		text_add(&naming->method, name);
	else
		find_by_value(naming);
}

/* The closure, where it is not known ------------------------------------------------------- */

static bool take_closure(void *ctx, const struct v8_property *property)
{
	struct naming *naming = ctx;
	const int32_t getter = naming->heap->layout->at[V8_PAIR_GETTER];
	uint64_t candidates[] = { property->value, 0, 0 };

	if (v8_is(naming->heap, property->value, V8_TYPE_ACCESSOR_PAIR)) {
		candidates[1] = v8_word(naming->heap, property->value, getter);
		candidates[2] = v8_word(naming->heap, property->value, getter + 8);
	}
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (v8_is_function(naming->heap, candidates[i]) &&
		    v8_field(naming->heap, candidates[i], V8_FUNCTION_SHARED) ==
			    naming->call->function->shared)
			naming->closure = candidates[i];
	}
	return !naming->closure;
}

/* A method that has moved is a property of what it was called on, or of what that inherits from. */
static void find_closure(struct naming *naming)
{
	uint64_t object = first_object(naming);

	for (unsigned int i = 0; object && !naming->closure && i < V8_PROTOTYPES_MAX; i++) {
		v8_each_property(naming->heap, object, &naming->budget, take_closure, naming);
		object = v8_prototype(naming->heap, object);
	}
}

/* All together ----------------------------------------------------------------------------- */

static bool is_identifier_char(char c, bool first)
{
	/* Of other alphabets all count: which are letters is a table of its own. */
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80 || (!first && c >= '0' && c <= '9');
}

static bool is_identifier(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (!is_identifier_char(*c, c == name))
			return false;
	}
	return *name;
}

/* Is the method named by the end of the function's name already? */
static bool ends_with_method(const struct naming *naming)
{
	const struct text *function = &naming->function, *method = &naming->method;
	char before;

	if (function->length < method->length ||
	    strcmp(text_chars(function) + (function->length - method->length),
		   text_chars(method)) != 0)
		return false;
	if (function->length == method->length)
		return true;
	before = function->chars[function->length - method->length - 1];
	return before == '.' ||
	       (before == ' ' && !naming->heap->layout->at[V8_NAMES_GETTERS_TWICE]);
}

/* Is the type to be put before a function's name? */
static bool is_typed(const struct naming *naming)
{
	const char *function = text_chars(&naming->function), *type = text_chars(&naming->type);

	if (!*type)
		return false;
	if (naming->heap->layout->at[V8_NAMES_ALL_TYPED])
		return strncmp(function, type, naming->type.length) != 0;
	return !*function || is_identifier(function);
}

static void add_method_call(struct naming *naming)
{
	struct text *out = &naming->out->strings;
	const char *function = text_chars(&naming->function);
	const char *type = text_chars(&naming->type), *method = text_chars(&naming->method);

	/* Neither is a name that it was given as it was made known then. */
	if (!*function && naming->call->moved && !naming->closure) {
		text_add(out, "<anonymous>");
		return;
	}
	if (is_typed(naming))
		text_printf(out, "%s.", type);
	text_add(out, *function ? function : *method ? method : "<anonymous>");
	if (*function && *method && !ends_with_method(naming))
		text_printf(out, " [as %s]", method);
}

/* Functions that were called on nothing, or on the global object. */
static bool is_top_level(const struct naming *naming)
{
	const struct v8_heap *heap = naming->heap;
	uint64_t receiver = naming->call->receiver;
	int type = v8_map_type(heap, naming->map);

	if (receiver && v8_is_smi(receiver))
		return false;
	return type < 0 || type == heap->layout->at[V8_TYPE_GLOBAL_PROXY] ||
	       v8_is_oddball(heap, receiver, V8_ODDBALL_UNDEFINED) ||
	       v8_is_oddball(heap, receiver, V8_ODDBALL_NULL);
}

static uint64_t map_of(const struct v8_heap *heap, const struct v8_call *call)
{
	if (!call->receiver)
		return call->receiver_map;
	return v8_is_smi(call->receiver) ? 0 : v8_word(heap, call->receiver, 0);
}

bool v8_add_call_name(const struct v8_heap *heap, const struct v8_call *call, bool moving,
		      struct v8_frames *out)
{
	struct naming naming = { .heap = heap,
				 .call = call,
				 .moving = moving,
				 .map = map_of(heap, call),
				 .closure = call->closure,
				 .out = out,
				 .budget = BUDGET };
	bool ok;

	if (!naming.closure && call->moved)
		find_closure(&naming);
	find_function_name(&naming);
	if (!call->construct && !is_top_level(&naming)) {
		find_type(&naming);
		find_method(&naming);
		add_method_call(&naming);
	} else {
		text_printf(&out->strings, "%s%s", call->construct ? "new " : "",
			    naming.function.length ? text_chars(&naming.function) : "<anonymous>");
	}
	ok = !naming.failed && text_ok(&naming.function) && text_ok(&naming.type) &&
	     text_ok(&naming.method) && text_ok(&out->strings);
	text_deinit(&naming.function);
	text_deinit(&naming.type);
	text_deinit(&naming.method);
	return ok;
}
