// SPDX-License-Identifier: GPL-2.0-or-later
/* How the runtime describes its own structures, for layout.c. */
#include "runtime/dotnet/contract.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "target/memory.h"

enum {
	JSON_MAX_BYTES = 1 << 20,
	JSON_MAX_DEPTH = 16,
	POINTERS_MAX = 4096,
	OFFSET_MAX = 1 << 20,

	/* The head of the descriptor. */
	HEAD_MAGIC = 0,
	HEAD_JSON_SIZE = 12,
	HEAD_JSON = 16,
	HEAD_POINTER_COUNT = 24,
	HEAD_POINTERS = 32,
};

static const uint64_t MAGIC = 0x0043414443434e44; /* "DNCCDAC\0" */

struct contract {
	struct json_object *json;
	struct json_object *types; /* parts of it */
	struct json_object *globals;
	struct json_object *contracts;
	uint64_t *pointers;
	uint32_t pointer_count;
};

void contract_destroy(struct contract *contract)
{
	if (!contract)
		return;
	json_object_put(contract->json);
	free(contract->pointers);
	free(contract);
}

CLEANUP_POINTER(contract_destroy, struct contract)

static int no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "no memory for the runtime's contract descriptor");
}

static int parse(struct contract *contract, const char *text, uint32_t size, struct error *err)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_MAX_DEPTH);

	if (!tokener)
		return no_memory(err);
	contract->json = json_tokener_parse_ex(tokener, text, (int)size);
	json_tokener_free(tokener);
	if (!json_object_is_type(contract->json, json_type_object) ||
	    !json_object_object_get_ex(contract->json, "types", &contract->types) ||
	    !json_object_object_get_ex(contract->json, "globals", &contract->globals) ||
	    !json_object_object_get_ex(contract->json, "contracts", &contract->contracts))
		return error_set(err, -EBADMSG,
				 "the runtime's contract descriptor is not understood");
	return 0;
}

static int read_parts(struct contract *contract, struct memory *memory, uint64_t at,
		      struct error *err)
{
	struct look look = look_into(memory);
	uint64_t magic = look_u64(&look, at + HEAD_MAGIC);
	uint32_t size = look_u32(&look, at + HEAD_JSON_SIZE);
	uint64_t json_at = look_u64(&look, at + HEAD_JSON);
	uint64_t pointers_at = look_u64(&look, at + HEAD_POINTERS);
	_cleanup_free_ char *text = NULL;

	contract->pointer_count = look_u32(&look, at + HEAD_POINTER_COUNT);
	if (look.bad || magic != MAGIC || size > JSON_MAX_BYTES ||
	    contract->pointer_count > POINTERS_MAX)
		return error_set(err, -EBADMSG,
				 "the runtime has no contract descriptor where it exports one");
	text = calloc(1, (size_t)size + 1);
	contract->pointers = calloc((size_t)contract->pointer_count + 1, sizeof(uint64_t));
	if (!text || !contract->pointers)
		return no_memory(err);
	look_copy_once(&look, json_at, text, size);
	look_copy(&look, pointers_at, contract->pointers,
		  contract->pointer_count * sizeof(uint64_t));
	if (look.bad)
		return error_set(err, -EBADMSG,
				 "the runtime's contract descriptor cannot be read whole");
	return parse(contract, text, size, err);
}

int contract_read(struct contract **out, struct memory *memory, uint64_t at, struct error *err)
{
	_cleanup_(contract_destroy_at) struct contract *contract = calloc(1, sizeof(*contract));
	int result = contract ? read_parts(contract, memory, at, err) : no_memory(err);

	if (result == 0)
		*out = cleanup_take(contract);
	return result;
}

int32_t contract_field(const struct contract *contract, const char *type, const char *field)
{
	struct json_object *fields, *offset;
	int64_t value;

	if (!json_object_object_get_ex(contract->types, type, &fields) ||
	    !json_object_is_type(fields, json_type_object) ||
	    !json_object_object_get_ex(fields, field, &offset))
		return -1;
	/* A plain offset, or [offset, "type"]. */
	if (json_object_is_type(offset, json_type_array))
		offset = json_object_array_get_idx(offset, 0);
	if (!json_object_is_type(offset, json_type_int))
		return -1;
	value = json_object_get_int64(offset);
	return value < 0 || value > OFFSET_MAX ? -1 : (int32_t)value;
}

static bool read_digits(const char *text, uint64_t *value)
{
	char *end;

	if (!text)
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return end != text && *end == '\0' && errno == 0;
}

/* A number, or a string that spells one: "0x1f". */
static bool read_number(struct json_object *from, uint64_t *value)
{
	if (json_object_is_type(from, json_type_int)) {
		*value = (uint64_t)json_object_get_int64(from);
		return true;
	}
	return json_object_is_type(from, json_type_string) &&
	       read_digits(json_object_get_string(from), value);
}

bool contract_global(const struct contract *contract, const char *name, uint64_t *value)
{
	struct json_object *global, *index;
	uint64_t number;

	if (!json_object_object_get_ex(contract->globals, name, &global))
		return false;
	/* VALUE, [VALUE, "type"], or for what the linker knows [INDEX] in either's place. */
	if (json_object_is_type(global, json_type_array) && json_object_array_length(global) == 2)
		global = json_object_array_get_idx(global, 0);
	if (!json_object_is_type(global, json_type_array))
		return read_number(global, value);
	index = json_object_array_get_idx(global, 0);
	if (!read_number(index, &number) || number >= contract->pointer_count)
		return false;
	*value = contract->pointers[number];
	return true;
}

unsigned int contract_version(const struct contract *contract, const char *algorithm)
{
	struct json_object *version;
	const char *text;
	uint64_t number;
	bool anew;

	if (!json_object_object_get_ex(contract->contracts, algorithm, &version))
		return 0;
	text = json_object_get_string(version);
	anew = json_object_is_type(version, json_type_string) && text[0] == 'c';
	if (!read_digits(text + anew, &number) || number == 0 || number > CONTRACT_VERSION_STRANGE)
		return CONTRACT_VERSION_STRANGE;
	return (unsigned int)number | (anew ? CONTRACT_ANEW : 0);
}
