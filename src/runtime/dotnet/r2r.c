// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the precompiled code of an image, for images.c, and walks over its entry points. */
#include "runtime/dotnet/r2r.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/r2r_internal.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"

enum {
	MAJOR_OLDEST = 6,  /* .NET 6; older ones have other signatures */
	MAJOR_NEWEST = 26, /* .NET 11 */

	FUNCTION_BYTES = 12,
	HOT_COLD_BYTES = 8,
	COMPONENT_BYTES = 16,
	MAX_COMPONENTS = 1 << 14,
	MAX_METHODS = 0x00ffffff, /* of all components: more than any set of assemblies has */

	/* The RUNTIME_FUNCTION index has one or two flags below it. */
	FUNCTION_HAS_FIXUPS = 1,

	/* Signatures of a table do not overlap, so it cannot hold more types than bytes. */
	TYPES_PER_BYTE = 2,
};

struct span r2r_section(const struct r2r *r2r, unsigned int type)
{
	struct pe_directory place = r2r_header_section(&r2r->header, type);

	return place.size ? pe_bytes(r2r->pe, place.rva, place.size) : (struct span){ 0 };
}

static int check_target(const struct r2r *r2r, struct error *err)
{
	uint16_t machine = r2r->pe->machine ^ PE_MACHINE_XOR_LINUX;

	if (machine != arch.pe_machine)
		return error_set(
			err, -ENOTSUP,
			"its code is not for Linux on %s (PE machine 0x%04x), and is compiled at run time",
			arch.name, r2r->pe->machine);
	if (r2r->header.major < MAJOR_OLDEST || r2r->header.major > MAJOR_NEWEST)
		return error_set(err, -ENOTSUP, "ReadyToRun version %u.%u is not known",
				 r2r->header.major, r2r->header.minor);
	return 0;
}

unsigned int r2r_major(const struct r2r *r2r)
{
	return r2r->header.major;
}

unsigned int r2r_major_of(unsigned int dotnet_major)
{
	static const uint8_t majors[] = { [8] = 9, [9] = 10, [10] = 16, [11] = MAJOR_NEWEST };

	return dotnet_major < sizeof(majors) / sizeof(majors[0]) ? majors[dotnet_major] : 0;
}

static int read_functions(struct r2r *r2r, struct error *err)
{
	struct pe_directory place = r2r_header_section(&r2r->header, R2R_SECTION_RUNTIME_FUNCTIONS);

	r2r->functions = r2r_section(r2r, R2R_SECTION_RUNTIME_FUNCTIONS);
	if (place.size && !r2r->functions.start)
		return error_set(err, -EBADMSG, "its table of functions lies outside the file");
	r2r->function_count = (uint32_t)(r2r->functions.size / FUNCTION_BYTES);

	r2r->hot_cold = r2r_section(r2r, R2R_SECTION_HOT_COLD_MAP);
	r2r->hot_cold_count = (uint32_t)(r2r->hot_cold.size / HOT_COLD_BYTES);
	return 0;
}

static int read_methods(struct r2r *r2r, struct r2r_component *component,
			const struct r2r_header *header, uint32_t *methods_left, struct error *err)
{
	struct pe_directory place = r2r_header_section(header, R2R_SECTION_METHOD_ENTRY_POINTS);
	int status;

	component->inlining = r2r_header_section(header, R2R_SECTION_INLINING);
	if (place.size == 0)
		return 0;
	status = native_array_init(&component->methods, pe_cursor(r2r->pe, place.rva), err);
	if (status < 0)
		return error_in(err, status, "its table of methods");
	if (component->methods.count > *methods_left)
		return error_set(err, -EBADMSG, "its tables of methods are too long");
	*methods_left -= component->methods.count;
	return 0;
}

/* A composite lists its components in the order of the manifest's AssemblyRefs. */
static int read_components(struct r2r *r2r, struct span list, struct error *err)
{
	struct cursor c = cursor_over(list);
	uint32_t methods_left = MAX_METHODS;

	for (uint32_t i = 0; i < r2r->component_count; i++) {
		struct r2r_component *component = &r2r->components[i];
		struct r2r_header header = { 0 };
		struct rva rva;
		int status;

		component->cli_header.value = cursor_u32(&c);
		cursor_skip(&c, sizeof(uint32_t));
		rva.value = cursor_u32(&c);
		cursor_skip(&c, sizeof(uint32_t));
		component->name =
			r2r->manifest ? metadata_assembly_ref_name(r2r->manifest, i + 1) : "";
		if (rva.value == 0)
			continue;
		if (!r2r_header_read_core(&header, pe_cursor(r2r->pe, rva)))
			return error_set(err, -EBADMSG, "the header of its component %u is damaged",
					 i);
		status = read_methods(r2r, component, &header, &methods_left, err);
		if (status < 0)
			return status;
	}
	return 0;
}

static int create_components(struct r2r *r2r, struct error *err)
{
	struct span list = r2r_section(r2r, R2R_SECTION_COMPONENT_ASSEMBLIES);
	uint32_t methods_left = MAX_METHODS;

	r2r->component_count = r2r->composite ? (uint32_t)(list.size / COMPONENT_BYTES) : 1;
	if (r2r->component_count > MAX_COMPONENTS)
		return error_set(err, -EBADMSG, "it says it has %u components",
				 r2r->component_count);
	r2r->components = calloc(r2r->component_count + 1, sizeof(*r2r->components));
	if (!r2r->components)
		return error_set(err, -ENOMEM, "no memory for %u components", r2r->component_count);
	if (r2r->composite)
		return read_components(r2r, list, err);
	return read_methods(r2r, &r2r->components[0], &r2r->header, &methods_left, err);
}

static int read_instances(struct r2r *r2r, struct error *err)
{
	struct pe_directory place =
		r2r_header_section(&r2r->header, R2R_SECTION_INSTANCE_ENTRY_POINTS);
	int status;

	if (place.size == 0)
		return 0;
	status = native_hashtable_init(&r2r->instances, pe_cursor(r2r->pe, place.rva), err);
	return status < 0 ? error_in(err, status, "its table of instantiations") : 0;
}

static int read_image(struct r2r *r2r, struct error *err)
{
	struct span manifest;
	int status;

	if (!r2r_header_find(&r2r->header, r2r->pe))
		return error_set(err, -EBADMSG, "it has no ReadyToRun header");
	r2r->composite = r2r_header_is_composite(&r2r->header);
	status = check_target(r2r, err);
	if (status == 0)
		status = read_functions(r2r, err);
	manifest = r2r_section(r2r, R2R_SECTION_MANIFEST_METADATA);
	if (status == 0 && manifest.start)
		status = metadata_create(&r2r->manifest, manifest, err);
	if (status == 0)
		status = create_components(r2r, err);
	return status ? status : read_instances(r2r, err);
}

struct metadata *r2r_manifest(const struct r2r *r2r)
{
	return r2r->manifest;
}

void r2r_destroy(struct r2r *r2r)
{
	if (!r2r)
		return;
	metadata_destroy(r2r->manifest);
	if (r2r->learnt) {
		free(r2r->learnt->index.owners);
		free(r2r->learnt->index.entries);
		free(r2r->learnt->imports.methods);
	}
	free(r2r->learnt);
	free(r2r->components);
	free(r2r);
}

CLEANUP_POINTER(r2r_destroy, struct r2r)

int r2r_create(struct r2r **created, const struct pe *pe, struct error *err)
{
	_cleanup_(r2r_destroy_at) struct r2r *r2r = calloc(1, sizeof(*r2r));
	int status;

	*created = NULL;
	if (!r2r || !(r2r->learnt = calloc(1, sizeof(*r2r->learnt))))
		return error_set(err, -ENOMEM, "no memory for a ReadyToRun image");
	r2r->pe = pe;
	status = read_image(r2r, err);
	if (status == 0)
		*created = cleanup_take(r2r);
	return status;
}

uint64_t r2r_damaged(const struct r2r *r2r)
{
	return r2r->learnt->damaged;
}

uint64_t r2r_unnamed(const struct r2r *r2r)
{
	return r2r->learnt->unnamed;
}

uint32_t r2r_component_count(const struct r2r *r2r)
{
	return r2r->component_count;
}

const char *r2r_component_name(const struct r2r *r2r, uint32_t component)
{
	return component < r2r->component_count ? r2r->components[component].name : NULL;
}

void r2r_set_metadata(struct r2r *r2r, uint32_t component, const struct metadata *metadata)
{
	if (component < r2r->component_count)
		__atomic_store_n(&r2r->components[component].metadata, metadata, __ATOMIC_RELEASE);
}

const struct metadata *r2r_metadata(const struct r2r *r2r, uint32_t component)
{
	return component < r2r->component_count ?
		       __atomic_load_n(&r2r->components[component].metadata, __ATOMIC_ACQUIRE) :
		       NULL;
}

bool r2r_is_call_thunk(const struct r2r *r2r, struct rva rva)
{
	struct pe_directory thunks = r2r_header_section(&r2r->header, R2R_SECTION_CALL_THUNKS);

	return rva.value >= thunks.rva.value && rva.value - thunks.rva.value < thunks.size;
}

void r2r_set_references(struct r2r *r2r, r2r_find_fn find, void *ctx)
{
	r2r->find_assembly = find;
	r2r->find_ctx = ctx;
}

struct span r2r_component_metadata(const struct r2r *r2r, uint32_t component)
{
	if (component >= r2r->component_count || !r2r->components[component].cli_header.value)
		return (struct span){ 0 };
	return metadata_of_header(r2r->pe, r2r->components[component].cli_header);
}

const struct metadata *r2r_component_named(const struct r2r *r2r, const char *name,
					   uint32_t *component)
{
	for (uint32_t i = 0; i < r2r->component_count; i++) {
		const struct metadata *metadata = r2r_metadata(r2r, i);

		if (metadata && strcmp(metadata_assembly_name(metadata), name) == 0) {
			*component = i;
			return metadata;
		}
	}
	*component = R2R_NO_ASSEMBLY;
	return NULL;
}

/* One of the image's own assemblies, or one that it was compiled together with. */
static const struct metadata *assembly_by_name(const struct r2r *r2r, const char *name,
					       uint32_t *component)
{
	const struct metadata *own;

	if (!*name)
		return NULL;
	own = r2r_component_named(r2r, name, component);
	return own || !r2r->find_assembly ? own : r2r->find_assembly(name, r2r->find_ctx);
}

const struct metadata *r2r_module(const struct r2r *r2r, uint32_t index, uint32_t *component)
{
	const struct metadata *own = r2r->composite ? NULL : r2r_metadata(r2r, 0);
	uint32_t own_refs = own ? metadata_rows(own, TABLE_ASSEMBLY_REF) : 0;
	uint32_t row;

	*component = R2R_NO_ASSEMBLY;
	if (!r2r->composite && (!own || index == 0)) {
		*component = 0;
		return own;
	}
	if (index == 0 || !r2r->manifest)
		return NULL;
	if (index <= own_refs)
		return assembly_by_name(r2r, metadata_assembly_ref_name(own, index), component);
	/*
	 * From 6.3 on it means the manifest's metadata itself; before, too, it is no AssemblyRef.
	 */
	if (index == own_refs + 1)
		return r2r->manifest;

	row = index - own_refs - 1;
	if (r2r->composite && row <= r2r->component_count) {
		*component = row - 1;
		return r2r_metadata(r2r, row - 1);
	}
	return assembly_by_name(r2r, metadata_assembly_ref_name(r2r->manifest, row), component);
}

static uint32_t u32_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool r2r_function(const struct r2r *r2r, uint32_t index, struct rva *begin, struct rva *end)
{
	const uint8_t *function;

	if (index >= r2r->function_count)
		return false;
	function = r2r->functions.start + (size_t)index * FUNCTION_BYTES;
	begin->value = u32_at(function);
	end->value = u32_at(function + sizeof(uint32_t));
	return begin->value < end->value && pe_is_code(r2r->pe, *begin);
}

uint32_t r2r_read_function(struct cursor *c)
{
	uint32_t value = native_unsigned(c);

	return value & FUNCTION_HAS_FIXUPS ? value >> 2 : value >> 1;
}

/* @fn, unless the entry is no code. */
static int visit(const struct r2r *r2r, struct r2r_entry *entry, r2r_entry_fn fn, void *ctx)
{
	struct rva end;

	if (r2r_function(r2r, entry->function, &entry->rva, &end))
		return fn(entry, ctx);
	r2r->learnt->damaged++;
	return 0;
}

static int each_method(const struct r2r *r2r, uint32_t component, r2r_entry_fn fn, void *ctx)
{
	const struct native_array *methods = &r2r->components[component].methods;

	for (uint32_t i = 0; i < methods->count; i++) {
		struct r2r_entry entry = { .component = component, .method_rid = i + 1 };
		struct cursor element;
		int found = native_array_find(methods, i, &element, NULL);
		int status;

		if (found == 0)
			continue;
		if (found > 0)
			entry.function = r2r_read_function(&element);
		if (found < 0 || !cursor_ok(&element)) {
			r2r->learnt->damaged++;
			continue;
		}
		status = visit(r2r, &entry, fn, ctx);
		if (status != 0)
			return status;
	}
	return 0;
}

static int each_instance(const struct r2r *r2r, r2r_entry_fn fn, void *ctx)
{
	struct native_hashtable_walk walk;
	const struct cursor *image = &r2r->instances.image;
	uint64_t types_left = (uint64_t)(image->end - image->start) * TYPES_PER_BYTE;
	struct cursor element;
	int found;

	native_hashtable_begin(&r2r->instances, &walk);
	while ((found = native_hashtable_next(&walk, &element)) > 0) {
		struct r2r_instance instance;
		struct r2r_entry entry = {
			.component = R2R_NO_ASSEMBLY,
			.instance = cursor_ok(&element) ? (uint32_t)cursor_offset(&element) + 1 :
							  R2R_NO_INSTANCE,
			.parsed = &instance,
		};
		bool good = r2r_instance_read(&instance, r2r, entry.instance);
		int status;

		if (instance.types > types_left) {
			found = -EBADMSG;
			break;
		}
		types_left -= instance.types;
		if (!good) {
			r2r->learnt->damaged++;
			continue;
		}
		entry.function = instance.function;
		status = visit(r2r, &entry, fn, ctx);
		if (status != 0)
			return status;
	}
	if (found < 0)
		r2r->learnt->damaged++;
	return 0;
}

int r2r_each_entry(const struct r2r *r2r, r2r_entry_fn fn, void *ctx)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < r2r->component_count; i++)
		status = each_method(r2r, i, fn, ctx);
	if (status == 0 && r2r->instances.bucket_count)
		status = each_instance(r2r, fn, ctx);
	return status;
}
