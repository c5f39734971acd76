// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runtime's own reading of its images' inlining info, to hold ours against: a profiler that
 * asks for the inliners of every method of every module, by every module.
 *
 * Two seconds after the start it writes "INLINEE-ASSEMBLY RID INLINER-ASSEMBLY RID" lines to the
 * file $INLINING_OUT, and then "end". Load it with CORECLR_ENABLE_PROFILING=1,
 * CORECLR_PROFILER={1D7A7B5A-0C3B-4F0E-9D7E-6B1B1A1C7E01} (any GUID) and CORECLR_PROFILER_PATH.
 *
 * The interfaces are COM's: a pointer to a table of functions. Source of the order of those:
 * dotnet/runtime src/coreclr/inc/corprof.idl.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	INFO_SET_EVENT_MASK = 16,
	INFO_GET_MODULE_INFO = 20,
	INFO_INITIALIZE_CURRENT_THREAD = 72,
	INFO_ENUM_INLINERS = 83,

	ENUM_NEXT = 7,
	UNKNOWN_QUERY = 0,
	UNKNOWN_RELEASE = 2,

	CALLBACK_INITIALIZE = 3,
	CALLBACK_MODULE_LOAD_FINISHED = 14,
	CALLBACK_SLOTS = 160,

	MONITOR_MODULE_LOADS = 4,
	MAX_MODULES = 512,
	MAX_ROWS = 65535,
	MAX_INLINERS = 8192,
	METHOD_DEF = 0x06000000,
	NAME_CHARS = 1024,
};

typedef int32_t (*function)(void *self, ...);

/* Any COM object. */
struct object {
	const function *table;
};

struct method {
	uintptr_t module;
	uint32_t token;
};

struct guid {
	uint8_t bytes[16];
};

/* F30A070D-BFFB-46A7-B1D8-8781EF7B698A */
static const struct guid info6_id = { { 0x0d, 0x07, 0x0a, 0xf3, 0xfb, 0xbf, 0xa7, 0x46, 0xb1, 0xd8,
					0x87, 0x81, 0xef, 0x7b, 0x69, 0x8a } };

static struct object *info;
static uintptr_t modules[MAX_MODULES];
static size_t module_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* "System.Linq" of /path/System.Linq.dll. */
static void module_name(uintptr_t module, char *name)
{
	uint16_t chars[NAME_CHARS] = { 0 };
	uint32_t length = 0;
	const void *base;
	uintptr_t assembly;
	char path[NAME_CHARS] = "";
	const char *slash;

	info->table[INFO_GET_MODULE_INFO](info, module, &base, (uint32_t)NAME_CHARS, &length, chars,
					  &assembly);
	for (size_t i = 0; i < NAME_CHARS - 1 && chars[i]; i++)
		path[i] = (char)chars[i];
	slash = strrchr(path, '/');
	snprintf(name, NAME_CHARS, "%s", slash ? slash + 1 : path);
	if (strrchr(name, '.'))
		*strrchr(name, '.') = '\0';
}

static void write_inliners(FILE *to, const char *names, uintptr_t inlinee, const char *inlinee_name,
			   uint32_t rid, uintptr_t inliners)
{
	static struct method methods[MAX_INLINERS];
	struct object *list = NULL;
	uint32_t count = 0;
	int incomplete = 0;

	if (info->table[INFO_ENUM_INLINERS](info, inliners, inlinee, METHOD_DEF | rid, &incomplete,
					    &list) < 0 ||
	    !list)
		return;
	list->table[ENUM_NEXT](list, (uint32_t)MAX_INLINERS, methods, &count);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = "?";

		for (size_t m = 0; m < module_count; m++) {
			if (modules[m] == methods[i].module)
				name = names + m * NAME_CHARS;
		}
		fprintf(to, "%s %u %s %u\n", inlinee_name, rid, name,
			methods[i].token & ~(uint32_t)METHOD_DEF);
	}
	list->table[UNKNOWN_RELEASE](list);
}

static void *write_all(void *unused)
{
	FILE *to = fopen(getenv("INLINING_OUT"), "w");
	char *names = calloc(MAX_MODULES, NAME_CHARS);

	(void)unused;
	sleep(2);
	if (!to || !names)
		abort();
	info->table[INFO_INITIALIZE_CURRENT_THREAD](info);
	pthread_mutex_lock(&lock);
	for (size_t m = 0; m < module_count; m++)
		module_name(modules[m], names + m * NAME_CHARS);
	for (size_t by = 0; by < module_count; by++) {
		for (size_t m = 0; m < module_count; m++) {
			for (uint32_t rid = 1; rid <= MAX_ROWS; rid++)
				write_inliners(to, names, modules[m], names + m * NAME_CHARS, rid,
					       modules[by]);
		}
	}
	pthread_mutex_unlock(&lock);
	fputs("end\n", to);
	fclose(to);
	free(names);
	return NULL;
}

static int32_t nothing(void *self, ...)
{
	(void)self;
	return 0;
}

static int32_t query(struct object *self, const struct guid *id, struct object **result)
{
	(void)id;
	*result = self;
	return 0;
}

static int32_t initialize(struct object *self, struct object *unknown)
{
	pthread_t thread;

	(void)self;
	if (unknown->table[UNKNOWN_QUERY](unknown, &info6_id, &info) < 0)
		return -1;
	info->table[INFO_SET_EVENT_MASK](info, (uint32_t)MONITOR_MODULE_LOADS);
	return pthread_create(&thread, NULL, write_all, NULL) ? -1 : 0;
}

static int32_t module_loaded(struct object *self, uintptr_t module, int32_t status)
{
	(void)self;
	pthread_mutex_lock(&lock);
	if (status >= 0 && module_count < MAX_MODULES)
		modules[module_count++] = module;
	pthread_mutex_unlock(&lock);
	return 0;
}

static function callbacks[CALLBACK_SLOTS];
static struct object profiler = { callbacks };

static int32_t create(struct object *self, void *outer, const struct guid *id,
		      struct object **result)
{
	(void)self;
	(void)outer;
	(void)id;
	*result = &profiler;
	return 0;
}

static function factory_functions[] = { (function)(void *)query, nothing, nothing,
					(function)(void *)create, nothing };
static struct object factory = { factory_functions };

int32_t DllGetClassObject(const struct guid *class_id, const struct guid *id,
			  struct object **result);

int32_t DllGetClassObject(const struct guid *class_id, const struct guid *id,
			  struct object **result)
{
	(void)class_id;
	(void)id;
	for (size_t i = 0; i < CALLBACK_SLOTS; i++)
		callbacks[i] = nothing;
	callbacks[UNKNOWN_QUERY] = (function)(void *)query;
	callbacks[CALLBACK_INITIALIZE] = (function)(void *)initialize;
	callbacks[CALLBACK_MODULE_LOAD_FINISHED] = (function)(void *)module_loaded;
	*result = &factory;
	return 0;
}
