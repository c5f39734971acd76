// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signatures PID PATTERN...: of each method that matches what its calls are given and give back, and
 * where: the name, then a line for each argument, "NAME: TYPE PLACE, PLACE"; -> is the result. How
 * long that took goes to standard error.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "method/pattern.h"
#include "tests/tools/dotnet_of.h"
#include "tests/tools/files.h"
#include "value/value.h"

enum { METHODS_MAX = 4096, DEPTH_MAX = 3 };

struct printer {
	struct resolution *resolution;
	struct value_types *types;
	double ms;
	size_t methods;
	size_t unknown;
};

static void print_type(const struct value_type *type, unsigned int depth)
{
	printf("%s", type->name);
	if (type->kind == VALUE_UNKNOWN)
		printf(" <%s>", type->why);
	if ((type->kind != VALUE_STRUCT && type->kind != VALUE_OBJECT) || depth == 0 ||
	    !type->field_count)
		return;
	printf("{");
	for (size_t i = 0; i < type->field_count; i++) {
		printf("%s%s@%u: ", i ? ", " : "", type->fields[i].name, type->fields[i].offset);
		print_type(type->fields[i].type, depth - 1);
	}
	printf("}");
}

static void print_slot(struct printer *printer, const struct value_slot *slot)
{
	static const char *const where[] = {
		[VALUE_IN_REGISTER] = "i",
		[VALUE_IN_FLOAT] = "xmm",
		[VALUE_ON_STACK] = "sp+",
		[VALUE_IN_BUFFER] = "buffer",
	};

	printf("  %s%s: ", slot->out ? "out " : "", slot->name ? slot->name : "->");
	print_type(slot->type, DEPTH_MAX);
	for (size_t i = 0; i < slot->part_count; i++)
		printf(" %s%u/%u", where[slot->parts[i].where], slot->parts[i].number,
		       slot->parts[i].size);
	printf("\n");
	printer->unknown += slot->type->kind == VALUE_UNKNOWN;
}

static int print_body(const struct method_body *body, void *ctx)
{
	struct printer *printer = ctx;
	struct value_signature signature;
	double begin = now_ms();
	int result =
		runtimes_signature(&printer->resolution->runtimes, &body->id, body->method_desc,
				   body->method, printer->types, &signature);

	printer->ms += now_ms() - begin;
	printf("%s\n", body->method);
	if (result || signature.why) {
		printf("  %s\n", result ? "no memory" : signature.why);
		return 0;
	}
	for (size_t i = 0; i < signature.argument_count; i++)
		print_slot(printer, &signature.arguments[i]);
	print_slot(printer, &signature.result);
	return printer->methods++ == METHODS_MAX;
}

static int print_pattern(struct printer *printer, const char *text, struct error *err)
{
	struct pattern *pattern = NULL;
	int result = pattern_create(&pattern, text, err);
	const struct body_query query = { .pattern = pattern };

	if (result == 0)
		result = runtimes_find(&printer->resolution->runtimes, &query, print_body, printer,
				       err);
	pattern_destroy(pattern);
	return result;
}

int main(int argc, char **argv)
{
	struct target target = TARGET_NONE;
	struct resolution resolution;
	struct printer printer = { .resolution = &resolution, .types = value_types_create() };
	struct error err = { .text = "" };

	if (argc < 3 || !printer.types || target_init(&target, atoi(argv[1]), &err) ||
	    resolution_init(&resolution, &target, &err)) {
		fprintf(stderr, "signatures: %s\n", argc < 3 ? "which PID, and what?" : err.text);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		if (print_pattern(&printer, argv[i], &err) < 0) {
			fprintf(stderr, "signatures: %s\n", err.text);
			return 1;
		}
	}
	fprintf(stderr, "%zu methods in %.1f ms, %zu values of unknown types\n", printer.methods,
		printer.ms, printer.unknown);
	value_types_destroy(printer.types);
	resolution_deinit(&resolution);
	target_deinit(&target);
	return 0;
}
