// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --dry-run: the plan as commands for perf, to be run by hand or on a machine where
 * place-probe may not attach. Only commands and # comments.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "session/resolve.h"
#include "base/text.h"

enum {
	EVENT_NAME_MAX = 48, /* perf takes 64 with its own additions */
};

/* 'It'\''s': nothing in it means anything to a shell. */
static void quote(const char *s, struct text *out)
{
	text_add_char(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			text_add(out, "'\\''");
		else
			text_add_char(out, *s);
	}
	text_add_char(out, '\'');
}

/*
 * A name that perf takes, readable and different for each site, also from those of other
 * processes, since perf compares names without their group: Thread_Sleep_int32_4711_0.
 */
static void event_name(const struct site *site, int pid, size_t number, struct text *out)
{
	const char *colons = strstr(site->method, "::");
	const char *start = colons ? colons : site->method;
	bool separate = false;
	size_t first;

	while (start > site->method && start[-1] != '.' && start[-1] != '+')
		start--;
	first = out->length;
	for (const char *p = start; *p && out->length - first < EVENT_NAME_MAX; p++) {
		if (!isascii(*p) || !isalnum((unsigned char)*p)) {
			separate = true;
			continue;
		}
		if (separate && out->length > first)
			text_add_char(out, '_');
		else if (out->length == first && isdigit((unsigned char)*p))
			text_add_char(out, '_');
		separate = false;
		text_add_char(out, *p);
	}
	text_printf(out, "%s_%d_%zu", out->length == first ? "method" : "", pid, number);
}

/*
 * Words of the kernel's table of uprobes end at blanks, and '#' begins a comment there. And what is
 * printed as it is must not command the terminal.
 */
static bool table_takes(const char *path)
{
	struct text printable = { 0 };
	bool takes;

	text_add_printable(&printable, path);
	takes = strcmp(text_chars(&printable), path) == 0 && strpbrk(path, " \\#") == NULL;
	text_deinit(&printable);
	return takes;
}

/* A file that our own mount namespace does not show is looked for in the target's. */
static void print_add(struct output *output, const struct site *site, size_t number,
		      const struct target_file *file, int pid)
{
	struct text line = { 0 }, probe = { 0 };

	text_add(&line, "perf probe ");
	if (strcmp(file->user_path, file->path) != 0)
		text_printf(&line, "--target-ns %d ", pid);
	text_add(&line, "-x ");
	quote(file->path, &line);
	text_printf(&probe, "place_probe_%d:", pid);
	event_name(site, pid, number, &probe);
	text_printf(&probe, "=0x%" PRIx64, site->offset.value);
	text_add(&line, " --add ");
	quote(text_chars(&probe), &line);
	if (text_ok(&line) && text_ok(&probe))
		fprintf(output->to, "# %s [%s]\n%s\n", site->method, tier_name(site->tier),
			text_chars(&line));
	text_deinit(&line);
	text_deinit(&probe);
}

/* perf's own way to a debug register; an address holds for this process only, as long as it runs. */
static void print_breakpoint(struct output *output, const struct site *site, int pid)
{
	fprintf(output->to, "# %s [%s]\nperf record -e mem:0x%" PRIx64 ":x -p %d -- sleep 10\n",
		site->method, tier_name(site->tier), site->address.value, pid);
}

static void print_not_placed(struct output *output, const struct site *site, const char *why,
			     const char *path)
{
	fprintf(output->to, "# not placed: %s: %s", site->method, why);
	output_printable(output, path);
	fputc('\n', output->to);
}

void output_dry_run(struct output *output, const struct plan *plan,
		    const struct resolution *resolution)
{
	int pid = resolution->target.process.pid;
	size_t printed = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];
		const struct target_file *file;

		if (site->mechanism == MECHANISM_NONE) {
			print_not_placed(output, site, reason_text(site->reason), "");
			continue;
		}
		if (site->stub || site->shares_probe) {
			print_not_placed(
				output, site,
				"other methods may go by its stub, and perf does not tell them apart",
				"");
			continue;
		}
		if (site->mechanism == MECHANISM_BREAKPOINT) {
			print_breakpoint(output, site, pid);
			continue;
		}
		file = target_file(&resolution->target, site->file);
		if (!file->user_path)
			print_not_placed(output, site, "no path leads any more to ", file->path);
		else if (!table_takes(file->path))
			print_not_placed(output, site, "perf takes no path such as ", file->path);
		else
			print_add(output, site, printed++, file, pid);
	}
	if (!printed)
		return;
	fprintf(output->to,
		"# record calls of process %d for 10 seconds and show them\n"
		"perf record -g -e 'place_probe_%d:*' -p %d -- sleep 10\n"
		"perf script\n"
		"# remove the probes\n"
		"perf probe --del 'place_probe_%d:*'\n",
		pid, pid, pid, pid);
}
