// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --dry-run: sites as commands for perf, to be run by hand or on a machine where place-probe may
 * not attach. Only commands and # comments.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/ops.h"

enum {
	EVENT_NAME_MAX = 48, /* perf takes 64 with its own additions */
};

struct dry_run {
	pid_t pid;
	size_t printed; /* uprobes */
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
static void event_name(const struct output_site *site, size_t number, struct text *out)
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
	text_printf(out, "%s_%d_%zu", out->length == first ? "method" : "", site->pid, number);
}

/*
 * Words of the kernel's table of uprobes end at blanks, and '#' begins a comment there. And what is
 * printed as it is must not command the terminal.
 */
static bool table_takes(const char *path)
{
	_cleanup_(text_deinit) struct text printable = { 0 };

	text_add_printable(&printable, path);
	return strcmp(text_chars(&printable), path) == 0 && strpbrk(path, " \\#") == NULL;
}

/* A file that our own mount namespace does not show is looked for in the target's. */
static void print_add(struct output *output, const struct output_site *site, size_t number)
{
	_cleanup_(text_deinit) struct text line = { 0 }, probe = { 0 };

	text_add(&line, "perf probe ");
	if (!site->file_is_here)
		text_printf(&line, "--target-ns %d ", site->pid);
	text_add(&line, "-x ");
	quote(site->file, &line);
	text_printf(&probe, "place_probe_%d:", site->pid);
	event_name(site, number, &probe);
	text_printf(&probe, "=0x%" PRIx64, site->file_offset);
	text_add(&line, " --add ");
	quote(text_chars(&probe), &line);
	if (text_ok(&line) && text_ok(&probe))
		fprintf(output->to, "# %s [%s]\n%s\n", site->method, site->tier, text_chars(&line));
}

static void print_not_placed(struct output *output, const struct output_site *site, const char *why,
			     const char *path)
{
	fprintf(output->to, "# not placed: %s: %s", site->method, why);
	output_printable(output, path);
	fputc('\n', output->to);
}

static void dry_run_site(struct output *output, const struct output_site *site)
{
	struct dry_run *dry_run = output->state;

	dry_run->pid = site->pid;
	if (!site->placed)
		fprintf(output->to, "# not placed: %s: %s; %s\n", site->method, site->reason_text,
			site->reason_next);
	else if (site->by_stub)
		print_not_placed(
			output, site,
			"other methods may go by its stub, and perf does not tell them apart", "");
	else if (site->by_address)
		/*
		 * perf's own way to a debug register, for this process alone, as long as it runs.
		 */
		fprintf(output->to,
			"# %s [%s]\nperf record -e mem:0x%" PRIx64 ":x -p %d -- sleep 10\n",
			site->method, site->tier, site->address, site->pid);
	else if (site->remapped)
		fprintf(output->to,
			"# %s [%s]: a uprobe at 0x%" PRIx64
			", once its code is mapped privately, which perf cannot do\n",
			site->method, site->tier, site->address);
	else if (!site->file_has_path)
		print_not_placed(output, site, "no path leads any more to ", site->file);
	else if (!table_takes(site->file))
		print_not_placed(output, site, "perf takes no path such as ", site->file);
	else
		print_add(output, site, dry_run->printed++);
}

static void dry_run_end(struct output *output)
{
	const struct dry_run *dry_run = output->state;

	if (dry_run->printed)
		fprintf(output->to,
			"# record calls of process %d for 10 seconds and show them\n"
			"perf record -g -e 'place_probe_%d:*' -p %d -- sleep 10\n"
			"perf script\n"
			"# remove the probes\n"
			"perf probe --del 'place_probe_%d:*'\n",
			dry_run->pid, dry_run->pid, dry_run->pid, dry_run->pid);
}

const struct output_ops dry_run_output = {
	.state_bytes = sizeof(struct dry_run),
	.site = dry_run_site,
	.end = dry_run_end,
};
