// SPDX-License-Identifier: GPL-2.0-or-later
/* What .NET has for the log, when it is looked for and when names are: see enum runtime_topic. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "target/target.h"

/* Hand over what is in @line, which begins anew. */
static void end_line(const struct runtime_log *log, struct text *line)
{
	if (text_ok(line))
		log->line(log->ctx, text_chars(line));
	text_clear(line);
}

static void log_unreadable(const struct dotnet *dotnet, const struct runtime_log *log,
			   struct text *line)
{
	const struct dotnet_images *images = &dotnet->images;

	if (images->problems) {
		text_printf(
			line,
			"%zu image%s of the target cannot be read in full, so methods may be missing (--maps takes them from a map): the first: %s",
			images->problems, images->problems == 1 ? "" : "s",
			images->first_problem ? images->first_problem->text : "?");
		end_line(log, line);
	}
	if (dotnet->jit_problem) {
		text_printf(
			line,
			"code compiled at run time is not found: %s (what is precompiled is, and --list shows it)",
			dotnet->jit_problem->text);
		end_line(log, line);
	}
	if (images->compressed && !dotnet->jit) {
		text_printf(
			line,
			"%zu assemblies lie compressed in the target's executable; their code is not in any file, so it is not found; publish it without EnableCompressionInSingleFile",
			images->compressed);
		end_line(log, line);
	}
	if (dotnet->jit && dotnet->jit->unreadable) {
		text_printf(
			line,
			"%zu parts of the code compiled at run time could not be read, since the target was changing them: run again if a method is missing",
			dotnet->jit->unreadable);
		end_line(log, line);
	}
}

static void log_summary(const struct dotnet *dotnet, const struct runtime_log *log,
			struct text *line)
{
	const struct dotnet_runtime *about = &dotnet->about;
	size_t files = dotnet->target->files.count;

	if (!dotnet->managed)
		text_printf(line, "no .NET runtime, %zu files", files);
	else
		text_printf(
			line,
			".NET %u.%u.%u%s, %zu managed images of %zu files, %zu bodies compiled at run time",
			about->major, about->minor, about->patch,
			about->single_file ? " in a single file" : "", dotnet->images.count, files,
			dotnet->jit ? dotnet->jit->body_count : 0);
	end_line(log, line);
}

/* What became of @count methods of it, as @how says: before the image's name, and after it. */
static void log_methods(const struct mapfile *file, uint64_t count, const char *const how[2],
			const struct runtime_log *log, struct text *line)
{
	if (count == 0)
		return;
	text_printf(line, "%s: %" PRIu64 " methods %s %s%s", file->name, count, how[0],
		    file->image->name, how[1]);
	end_line(log, line);
}

static void log_map(const struct mapfile *file, const struct runtime_log *log, struct text *line)
{
	static const char *const misplaced[] = { "stand where no function of",
						 " begins, and are left out" };
	static const char *const disagree[] = { "have another name in",
						" itself, which is believed" };

	if (file->bad_rows) {
		text_printf(line, "%s: %" PRIu64 " bad rows in all", file->name, file->bad_rows);
		end_line(log, line);
	}
	log_methods(file, file->misplaced, misplaced, log, line);
	log_methods(file, file->disagree, disagree, log, line);
	if (log->verbose) {
		text_printf(line, "%s: %s, %" PRIu64 " methods of %s", file->name,
			    mapparse_format_name(file->format), file->rows, file->image->name);
		end_line(log, line);
	}
}

static void log_inlining(const struct dotnet *dotnet, const struct runtime_log *log,
			 struct text *line)
{
	const struct error *first;
	size_t problems = dotnet->inlining ? dotnet_inlining_problems(dotnet->inlining, &first) : 0;

	if (problems == 0)
		return;
	text_printf(line, "%s%s", first->text,
		    problems > 1 ? "; nor can that of other images" : "");
	end_line(log, line);
}

/* Most images of the runtime have none anywhere, so it takes a request to be told. */
static void log_lines(const struct dotnet *dotnet, const struct runtime_log *log, struct text *line)
{
	const struct dotnet_pdbs *pdbs = &dotnet->pdbs;
	const char *next = text_chars(&pdbs->where);

	if (dotnet->others->symbols.count && pdbs->missed && !pdbs->in_symbols) {
		text_printf(line, "--symbols: of %zu PDB%s that were looked for none is there%s",
			    pdbs->missed, pdbs->missed == 1 ? "" : "s",
			    log->verbose ? "" : " (-v says which and where)");
		end_line(log, line);
	}
	for (const char *end; log->verbose && (end = strchr(next, '\n')); next = end + 1) {
		text_printf(line, "%.*s (--symbols names more directories)", (int)(end - next),
			    next);
		end_line(log, line);
	}
}

void dotnet_log(const struct runtime *runtime, enum runtime_topic topic,
		const struct runtime_log *log)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;
	_cleanup_(text_deinit) struct text line = { 0 };

	switch (topic) {
	case RUNTIME_LOG_UNREADABLE:
		log_unreadable(dotnet, log, &line);
		break;
	case RUNTIME_LOG_SUMMARY:
		log_summary(dotnet, log, &line);
		break;
	case RUNTIME_LOG_MAPS:
		for (size_t i = 0; i < dotnet->mapfile_count; i++)
			log_map(&dotnet->mapfiles[i], log, &line);
		break;
	case RUNTIME_LOG_NAMES:
		if (dotnet->perf_map_problem)
			log->line(log->ctx, dotnet->perf_map_problem->text);
		break;
	case RUNTIME_LOG_INLINERS:
		log_inlining(dotnet, log, &line);
		break;
	case RUNTIME_LOG_LINES:
		log_lines(dotnet, log, &line);
		break;
	}
}

/* A row or a whole map file that cannot be used; the rest is. */
static void log_row(void *ctx, const struct mapfile *file, uint64_t number, const char *what)
{
	const struct runtime_log *log = ctx;
	_cleanup_(text_deinit) struct text line = { 0 };

	if (!file)
		text_add(&line, what);
	else
		text_printf(&line, "%s:%" PRIu64 ": %s", file->name, number, what);
	end_line(log, &line);
}

int dotnet_use_maps(struct runtime *runtime, const char *path, const struct runtime_log *log,
		    struct error *err)
{
	return dotnet_add_maps((struct dotnet *)runtime, path, log_row, (void *)(uintptr_t)log,
			       err);
}
