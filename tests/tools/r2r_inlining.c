// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints what images say of inlining, a line for each pair, and what came up on standard error.
 *
 *   r2r_inlining [-t] IMAGE...
 *
 * The line is "INLINEE <- INLINER", by name; with -t "ASSEMBLY RID ASSEMBLY RID", as the tables
 * have it. A composite is given with its components, and an image with those of its bubble.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/r2r.h"
#include "base/error.h"
#include "method/method_name.h"
#include "tests/tools/files.h"

struct printer {
	bool tokens;
	struct method_name name;
	struct text inlinee;
	struct text inliner;
	size_t inlinees;
	size_t pairs;
	size_t elsewhere; /* one of the two is in an assembly that was not given */
	size_t imports;
};

static void spell(struct printer *printer, const struct r2r_method *method, struct text *out)
{
	text_clear(out);
	printer->elsewhere += !method->metadata;
	printer->imports += method->member_ref_rid != 0;
	if (!method->metadata) {
		text_printf(out, printer->tokens ? "? %u" : "?", method->method_rid);
	} else if (printer->tokens) {
		text_printf(out, "%s %u", metadata_assembly_name(method->metadata),
			    method->method_rid);
	} else {
		r2r_method_name(method, &printer->name);
		method_name_spell(&printer->name, out);
	}
}

static int print_pair(const struct r2r_method *inliner, void *ctx)
{
	struct printer *printer = ctx;

	spell(printer, inliner, &printer->inliner);
	printf("%s%s%s\n", text_chars(&printer->inlinee), printer->tokens ? " " : " <- ",
	       text_chars(&printer->inliner));
	printer->pairs++;
	return 0;
}

static int print_inlinee(const struct r2r_inlinee *inlinee, void *ctx)
{
	struct printer *printer = ctx;

	printer->inlinees++;
	spell(printer, &inlinee->method, &printer->inlinee);
	if (r2r_each_inliner(inlinee, print_pair, printer) != 0)
		fprintf(stderr, "inliners of %s: damaged\n", text_chars(&printer->inlinee));
	return 0;
}

static bool is_mapped(const void *ctx, uint64_t offset, uint64_t size)
{
	(void)ctx;
	(void)offset;
	return size > 0;
}

static void add_image(struct dotnet_images *images, const char *path)
{
	struct dotnet_source source = {
		.name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
		.bytes = map_file(path),
		.is_mapped = is_mapped,
	};

	if (dotnet_images_add(images, &source, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	struct printer printer = { .tokens = argc > 1 && strcmp(argv[1], "-t") == 0 };
	struct dotnet_images images = { 0 };

	for (int i = printer.tokens ? 2 : 1; i < argc; i++)
		add_image(&images, argv[i]);
	dotnet_images_link_from(&images, 0);
	for (size_t i = 0; i < images.count; i++) {
		const struct dotnet_image *image = images.images[i];
		struct error err = { "" };

		if (image->r2r && r2r_each_inlinee(image->r2r, print_inlinee, &printer, &err) != 0)
			fprintf(stderr, "%s: %s\n", image->name, err.text);
	}
	fprintf(stderr, "inlinees %zu pairs %zu elsewhere %zu imports %zu\n", printer.inlinees,
		printer.pairs, printer.elsewhere, printer.imports);
	method_name_deinit(&printer.name);
	text_deinit(&printer.inlinee);
	text_deinit(&printer.inliner);
	dotnet_images_deinit(&images);
	return images.problems != 0;
}
