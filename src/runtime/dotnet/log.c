// SPDX-License-Identifier: GPL-2.0-or-later
/* What .NET has for the log, when it is looked for and when names are: see enum runtime_topic. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/shortage.h"
#include "runtime/dotnet/dotnet_internal.h"
#include "target/target.h"

__attribute__((format(printf, 2, 3))) static void tell(const struct runtime_log *log,
						       const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0) {
		shortage_note();
		line = NULL;
	}
	va_end(args);
	if (line)
		log->line(log->ctx, line);
}

static void log_unreadable(const struct dotnet *dotnet, const struct runtime_log *log)
{
	const struct dotnet_images *images = &dotnet->images;

	if (images->problems)
		tell(log,
		     "%zu image%s of the target cannot be read in full, so methods may be missing (--maps takes them from a map): the first: %s",
		     images->problems, text_plural(images->problems),
		     images->first_problem ? images->first_problem->text : "?");
	if (dotnet->jit_problem)
		tell(log,
		     "code compiled at run time is not found: %s (what is precompiled is, and --list shows it)",
		     dotnet->jit_problem->text);
	if (images->compressed && !dotnet->jit)
		tell(log,
		     "%zu assembl%s compressed in the target's executable; %s code is not in any file, so it is not found; publish it without EnableCompressionInSingleFile",
		     images->compressed, images->compressed == 1 ? "y lies" : "ies lie",
		     images->compressed == 1 ? "its" : "their");
	if (dotnet->jit && dotnet->jit->unreadable)
		tell(log,
		     "%zu part%s of the code compiled at run time could not be read, since the target was changing %s: run again if a method is missing",
		     dotnet->jit->unreadable, text_plural(dotnet->jit->unreadable),
		     dotnet->jit->unreadable == 1 ? "it" : "them");
}

static void log_summary(const struct dotnet *dotnet, const struct runtime_log *log)
{
	const struct dotnet_runtime *about = &dotnet->about;
	size_t files = dotnet->target->files.count;
	size_t bodies = dotnet->jit ? dotnet->jit->body_count : 0;

	if (!dotnet->managed)
		tell(log, "no .NET runtime, %zu file%s", files, text_plural(files));
	else
		tell(log,
		     ".NET %u.%u.%u%s, %zu managed image%s of %zu file%s, %zu bod%s compiled at run time",
		     about->major, about->minor, about->patch,
		     about->single_file ? " in a single file" : "", dotnet->images.count,
		     text_plural(dotnet->images.count), files, text_plural(files), bodies,
		     bodies == 1 ? "y" : "ies");
}

static void log_map(const struct mapfile *file, const struct runtime_log *log)
{
	if (file->bad_rows)
		tell(log, "%s: %" PRIu64 " bad row%s in all", file->name, file->bad_rows,
		     text_plural(file->bad_rows));
	if (file->misplaced)
		tell(log,
		     "%s: %" PRIu64 " method%s where no function of %s begins, and %s left out",
		     file->name, file->misplaced, file->misplaced == 1 ? " stands" : "s stand",
		     file->image->name, text_are(file->misplaced));
	if (file->disagree)
		tell(log, "%s: %" PRIu64 " method%s another name in %s itself, which is believed",
		     file->name, file->disagree, file->disagree == 1 ? " has" : "s have",
		     file->image->name);
	if (log->verbose)
		tell(log, "%s: %s, %" PRIu64 " method%s of %s", file->name,
		     mapparse_format_name(file->format), file->rows, text_plural(file->rows),
		     file->image->name);
}

static void log_inlining(const struct dotnet *dotnet, const struct runtime_log *log)
{
	const struct error *first;
	size_t problems = dotnet->inlining ? dotnet_inlining_problems(dotnet->inlining, &first) : 0;

	if (problems == 0)
		return;
	tell(log, "%s%s", first->text, problems > 1 ? "; nor can that of other images" : "");
}

/* Most images of the runtime have none anywhere, so it takes a request to be told. */
static void log_lines(const struct dotnet *dotnet, const struct runtime_log *log)
{
	const struct dotnet_pdbs *pdbs = &dotnet->pdbs;
	const char *next = text_chars(&pdbs->where);

	if (dotnet->others->symbols.count && pdbs->missed && !pdbs->in_symbols)
		tell(log, "--symbols: of %zu PDB%s that were looked for none is there%s",
		     pdbs->missed, text_plural(pdbs->missed),
		     log->verbose ? "" : " (-v says which and where)");
	for (const char *end; log->verbose && (end = strchr(next, '\n')); next = end + 1)
		tell(log, "%.*s (--symbols names more directories)", (int)(end - next), next);
}

void dotnet_log(const struct runtime *runtime, enum runtime_topic topic,
		const struct runtime_log *log)
{
	const struct dotnet *dotnet = (const struct dotnet *)runtime;

	switch (topic) {
	case RUNTIME_LOG_UNREADABLE:
		log_unreadable(dotnet, log);
		break;
	case RUNTIME_LOG_SUMMARY:
		log_summary(dotnet, log);
		break;
	case RUNTIME_LOG_MAPS:
		for (size_t i = 0; i < dotnet->mapfile_count; i++)
			log_map(&dotnet->mapfiles[i], log);
		break;
	case RUNTIME_LOG_NAMES:
		if (dotnet->perf_map_problem)
			log->line(log->ctx, dotnet->perf_map_problem->text);
		break;
	case RUNTIME_LOG_INLINERS:
		log_inlining(dotnet, log);
		break;
	case RUNTIME_LOG_LINES:
		log_lines(dotnet, log);
		break;
	}
}

/* A row or a whole map file that cannot be used; the rest is. */
static void log_row(void *ctx, const struct mapfile *file, uint64_t number, const char *what)
{
	const struct runtime_log *log = ctx;

	if (!file)
		log->line(log->ctx, what);
	else
		tell(log, "%s:%" PRIu64 ": %s", file->name, number, what);
}

int dotnet_use_maps(struct runtime *runtime, const char *path, const struct runtime_log *log,
		    struct error *err)
{
	return dotnet_add_maps((struct dotnet *)runtime, path, log_row, (void *)(uintptr_t)log,
			       err);
}
