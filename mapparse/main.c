// SPDX-License-Identifier: GPL-2.0-or-later
/* mapparse FILE...: what is in map files, for people and for other programs. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

#ifndef PLACE_PROBE_VERSION
#define PLACE_PROBE_VERSION "unknown"
#endif

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2 };

struct options {
	struct output out;
	const char *assembly;
	bool all; /* sections' rows as well */
	bool check;
	bool format_only;
};

/* One file on its way through the reader. */
struct run {
	const struct options *options;
	const char *file_name;
	struct mapparse_ranges *ranges;
	unsigned int told;
};

enum { OPTION_FORMAT = 256, OPTION_TO, OPTION_BASE, STOP = 1, TOLD_MAX = 5 };

static const char help[] =
	"Usage: mapparse [OPTION]... FILE...\n"
	"Print the rows of map files of .NET's compilers and runtime, and of node; - is stdin.\n"
	"\n"
	"  -j, --json             one JSON object a row; the same as --to json\n"
	"      --to FORMAT        convert: json, csv or perfmap\n"
	"      --format           only say which format each file has, and of which image it is\n"
	"  -a, --all              also what is no code: data in the image, images of a process\n"
	"  -c, --check            report rows that lie in each other; keeps all ranges in memory\n"
	"      --base ADDRESS     add this to RVAs: where the image is loaded\n"
	"      --assembly NAME    whose map it is, for --map and --mapcsv of crossgen2\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Exit: 0 all was read, 1 a file or some rows of one could not be read, 2 usage.\n";

static int complain(const char *file_name, const char *why)
{
	fprintf(stderr, "mapparse: %s: %s\n", file_name, why);
	return EXIT_ERROR;
}

static int on_row(void *user, const struct mapparse_row *row)
{
	struct run *run = user;
	const struct options *options = run->options;
	int result = 0;

	/* The facts about the image stand before its first method. */
	if (options->format_only)
		return row->kind == MAPPARSE_KIND_SECTION ? 0 : STOP;
	if (run->ranges && row->kind != MAPPARSE_KIND_SECTION)
		result = mapparse_ranges_add(run->ranges, row);
	if (result)
		return result;
	if (!options->all &&
	    (row->kind == MAPPARSE_KIND_SECTION || row->kind == MAPPARSE_KIND_IMAGE))
		return 0;
	return output_row(&options->out, run->file_name, row);
}

static void on_diagnostic(void *user, const struct mapparse_diagnostic *diagnostic)
{
	struct run *run = user;

	fprintf(stderr, "mapparse: %s:%" PRIu64 ": %s\n", run->file_name, diagnostic->line,
		diagnostic->reason);
}

static void on_overlap(void *user, uint64_t line, uint64_t other_line, bool is_duplicate)
{
	struct run *run = user;

	if (run->told++ < TOLD_MAX)
		fprintf(stderr, "mapparse: %s:%" PRIu64 ": the row %s that of line %" PRIu64 "\n",
			run->file_name, line, is_duplicate ? "begins where it does:" : "lies in",
			other_line);
}

static void check_ranges(struct run *run)
{
	struct mapparse_ranges_counts counts;

	mapparse_ranges_check(run->ranges, &counts, on_overlap, run);
	fprintf(stderr, "mapparse: %s: %" PRIu64 " duplicates, %" PRIu64 " overlaps\n",
		run->file_name, counts.duplicates, counts.overlaps);
}

static int read_file(struct run *run, int fd)
{
	const struct options *options = run->options;
	struct mapparse_reader *reader = mapparse_reader_create(&(struct mapparse_options){
		.row = on_row,
		.diagnostic = on_diagnostic,
		.user = run,
		.diagnostics_max = TOLD_MAX,
		.assembly = options->assembly,
	});
	const struct mapparse_counts *counts;
	int result, exit_code = EXIT_OK;

	if (!reader)
		return complain(run->file_name, strerror(ENOMEM));
	result = mapparse_reader_read_fd(reader, fd);
	counts = mapparse_reader_counts(reader);
	if (result < 0) {
		const char *why = mapparse_reader_error(reader);

		exit_code = complain(run->file_name, why[0] ? why : strerror(-result));
	} else {
		if (options->format_only)
			output_header(&options->out, run->file_name,
				      mapparse_reader_header(reader));
		if (run->ranges)
			check_ranges(run);
	}
	if (counts->bad > TOLD_MAX)
		fprintf(stderr, "mapparse: %s: %" PRIu64 " more such lines of %" PRIu64 "\n",
			run->file_name, counts->bad - TOLD_MAX, counts->lines);
	if (counts->bad)
		exit_code = EXIT_ERROR;
	mapparse_reader_destroy(reader);
	return exit_code;
}

static int process_file(const struct options *options, const char *file_name)
{
	struct run run = { .options = options, .file_name = file_name };
	bool is_stdin = strcmp(file_name, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(file_name, O_RDONLY | O_CLOEXEC);
	int exit_code;

	if (fd < 0)
		return complain(file_name, strerror(errno));
	run.ranges = options->check ? mapparse_ranges_create() : NULL;
	exit_code = !options->check || run.ranges ? read_file(&run, fd) :
						    complain(file_name, strerror(ENOMEM));
	mapparse_ranges_destroy(run.ranges);
	if (!is_stdin)
		close(fd);
	return exit_code;
}

static bool parse_style(const char *word, enum output_style *style)
{
	static const char *const words[] = {
		[OUTPUT_TEXT] = "text",
		[OUTPUT_JSON] = "json",
		[OUTPUT_CSV] = "csv",
		[OUTPUT_PERF_MAP] = "perfmap",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) == 0) {
			*style = (enum output_style)i;
			return true;
		}
	}
	fprintf(stderr, "mapparse: --to %s: the formats are json, csv and perfmap\n", word);
	return false;
}

static bool parse_base(const char *word, uint64_t *base)
{
	char *end;

	errno = 0;
	*base = strtoull(word, &end, 0);
	if (errno == 0 && end != word && *end == '\0' && *word != '-')
		return true;
	fprintf(stderr, "mapparse: --base %s: not an address\n", word);
	return false;
}

/* -1 to go on, or the exit code. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "to", required_argument, NULL, OPTION_TO },
		{ "format", no_argument, NULL, OPTION_FORMAT },
		{ "all", no_argument, NULL, 'a' },
		{ "check", no_argument, NULL, 'c' },
		{ "base", required_argument, NULL, OPTION_BASE },
		{ "assembly", required_argument, NULL, 'A' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "jachV", longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			options->out.style = OUTPUT_JSON;
			break;
		case OPTION_TO:
			if (!parse_style(optarg, &options->out.style))
				return EXIT_USAGE;
			break;
		case OPTION_FORMAT:
			options->format_only = true;
			break;
		case 'a':
			options->all = true;
			break;
		case 'c':
			options->check = true;
			break;
		case OPTION_BASE:
			if (!parse_base(optarg, &options->out.base))
				return EXIT_USAGE;
			break;
		case 'A':
			options->assembly = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		case 'V':
			puts("mapparse " PLACE_PROBE_VERSION);
			return EXIT_OK;
		default:
			fputs("Try 'mapparse --help'.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		return -1;
	fputs("mapparse: which files?\nTry 'mapparse --help'.\n", stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options options = { .out = { .file = stdout } };
	int exit_code = parse_options(argc, argv, &options);

	if (exit_code < 0) {
		exit_code = EXIT_OK;
		if (!options.format_only)
			output_begin(&options.out);
		for (int i = optind; i < argc; i++) {
			if (process_file(&options, argv[i]) != EXIT_OK)
				exit_code = EXIT_ERROR;
		}
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		exit_code = complain("stdout", strerror(errno));
	return exit_code;
}
