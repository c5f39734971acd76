// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where output goes, and in which format: the last step of a record's way. Formats are in files of
 * their own, and in the table below.
 */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/request.h"
#include "output/ops.h"

enum {
	BUFFER_BYTES = 1 << 18,
	HITS = 1U << MODE_HITS | 1U << MODE_HIST, /* with --min; the command line sees to it */
	TOTALS = 1U << MODE_COUNT | 1U << MODE_HIST,
	RIGHTS_ASKED = 0666,
	RIGHTS_KEPT = 0777, /* of a file that is replaced as a whole; of a new one: */
	RIGHTS_WHOLE = 0644,
	MEMORY_PART = 2, /* of --memory; the rest is for stacks before they are written */
};

/* The first row that fits; else it is text. */
static const struct {
	unsigned int modes; /* a bit each */
	enum format format;
	const struct output_ops *ops;
} formats[] = {
	{ 1U << MODE_LIST, FORMAT_TEXT, &list_output },
	{ 1U << MODE_DRY_RUN, FORMAT_TEXT, &dry_run_output },
	{ 1U << MODE_FOLDED, FORMAT_TEXT, &folded_output },
	{ 1U << MODE_FOLDED, FORMAT_JSON, &folded_json_output },
	{ ~0U, FORMAT_JSON, &json_output },
	{ HITS, FORMAT_PERF_SCRIPT, &perf_script_output },
	{ HITS, FORMAT_SPEEDSCOPE, &speedscope_output },
	{ HITS, FORMAT_TRACE_EVENT, &trace_event_output },
	{ TOTALS, FORMAT_OPENMETRICS, &openmetrics_output },
	{ HITS, FORMAT_PPROF, &pprof_output },
	{ HITS | 1U << MODE_FOLDED, FORMAT_FLAME, &flame_output },
};

static const struct output_ops *find_format(const struct options *options)
{
	if (options->top)
		return &top_output;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].modes >> options->mode & 1 && formats[i].format == options->format)
			return formats[i].ops;
	}
	return &text_output;
}

/* How far local time is from UTC. */
static int64_t zone_now(const struct output *output)
{
	time_t seconds = ((int64_t)output->start_ns + output->wall_offset_ns) / NS_PER_S;
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

static bool is_whole(enum format format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].format == format && formats[i].ops->whole)
			return true;
	}
	return false;
}

/* Output that is read as a whole ------------------------------------------------------------- */

/*
 * At any time: a file of it is written beside the old one and then takes its place, so a reader has
 * the one or the other and never a part.
 */

/* A file beside @path; its name, which the caller frees and unlinks, into @name: NULL if none. */
static int make_beside(const char *path, char **name)
{
	int fd, result;

	if (asprintf(name, "%s.XXXXXX", path) < 0) {
		*name = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*name, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	result = -errno;
	free(*name);
	*name = NULL;
	return result;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Whoever reads the old file may read the new one. */
static int take_rights(int fd, const struct stat *old)
{
	if (old && fchown(fd, old->st_uid, old->st_gid) != 0)
		return -errno;
	return fchmod(fd, old ? old->st_mode & RIGHTS_KEPT : RIGHTS_WHOLE) == 0 ? 0 : -errno;
}

static int replace(const char *path, const struct stat *old, const char *bytes, size_t length)
{
	_cleanup_free_ char *name = NULL;
	int fd = make_beside(path, &name), result;

	if (fd < 0 || !name)
		return fd;
	result = write_all(fd, bytes, length);
	if (result == 0)
		result = take_rights(fd, old);
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && rename(name, path) != 0)
		result = -errno;
	if (result)
		unlink(name);
	return result;
}

/* The file that is to be replaced, or made, which the caller frees; NULL: @path is no such. */
static int find_file(const char *path, struct stat *st, bool *is_there, char **file)
{
	*file = NULL;
	*is_there = stat(path, st) == 0;
	if (*is_there && S_ISDIR(st->st_mode))
		return -EISDIR;
	if (*is_there && !S_ISREG(st->st_mode))
		return 0;
	/* A link that leads nowhere stays one. */
	if (!*is_there && lstat(path, st) == 0)
		return -ENOENT;
	/* Through links, also those of /proc: nothing takes their place. */
	*file = *is_there ? realpath(path, NULL) : strdup(path);
	return *file ? 0 : -errno;
}

int output_replace(const char *path, const char *bytes, size_t length)
{
	_cleanup_free_ char *file = NULL;
	struct stat st;
	bool is_there;
	int result = find_file(path, &st, &is_there, &file);

	/* It is none any more. */
	if (result == 0 && !file)
		return -ESTALE;
	return result ? result : replace(file, is_there ? &st : NULL, bytes, length);
}

/* By the broker, if there is one: it may write there. */
static int publish(const char *path, const struct text *all)
{
	struct request_publish request = {
		.bytes = (uint64_t)(uintptr_t)text_chars(all),
		.length = all->length,
	};

	return request_make(REQUEST_PUBLISH, &request.answer) ?
		       request.answer.result :
		       output_replace(path, text_chars(all), all->length);
}

void output_whole(struct output *output, const struct text *all)
{
	int result = text_ok(all) ? 0 : -ENOMEM;

	if (result == 0 && output->whole_path)
		result = publish(output->whole_path, all);
	else if (result == 0)
		fwrite(text_chars(all), 1, all->length, output->to);
	if (result && !output->problem)
		output->problem = result;
}

/*
 * Can there be such a file at @path? Or a negative errno, with @err set. What is no ordinary file,
 * such as a pipe, is written to as others write: not @is_file.
 */
static int try_whole(const char *path, bool *is_file, struct error *err)
{
	_cleanup_free_ char *file = NULL, *name = NULL;
	struct stat st;
	bool is_there;
	int fd = find_file(path, &st, &is_there, &file);

	*is_file = fd || file;
	if (!*is_file)
		return 0;
	if (fd == 0)
		fd = make_beside(file, &name);
	if (fd < 0 || !name)
		return error_set(err, fd, "cannot write to %s: %s; name another file with -o", path,
				 strerror(-fd));
	close(fd);
	unlink(name);
	return 0;
}

/* Opening and closing ------------------------------------------------------------------------- */

/* As it is: what it has is replaced once it is known that there will be something else. */
static FILE *open_to_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, RIGHTS_ASKED);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

int output_reserve(struct output *output, const struct options *options, struct error *err)
{
	bool is_file = false;
	int result;

	*output = (struct output){
		.to = stdout,
		.path = options->output_path,
		.start_ns = clock_now_ns(),
	};
	output->wall_offset_ns = (int64_t)(clock_read_ns(CLOCK_REALTIME) - output->start_ns);
	output->zone_s = zone_now(output);
	if (is_whole(options->format) && output->path) {
		result = try_whole(output->path, &is_file, err);
		if (result)
			return result;
	}
	if (is_file) {
		output->whole_path = output->path;
		output->path = NULL;
	}
	if (output->path)
		output->to = open_to_write(output->path);
	if (!output->to)
		return error_set(err, -errno, "cannot write to %s: %s; name another file with -o",
				 options->output_path, strerror(errno));
	return 0;
}

int output_start(struct output *output, const struct options *options, struct error *err)
{
	struct stat st;

	output->memory_bytes = options->memory_bytes / MEMORY_PART;
	output->ops = find_format(options);
	output->wall_clock = options->wall_clock;
	output->verbose = options->verbose;
	output->by_tid = options->by == LATENCY_BY_TID;
	output->unit = options->unit;
	output->linear = options->linear;
	if (output->path && fstat(fileno(output->to), &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fileno(output->to), 0) != 0)
		return error_set(err, -errno,
				 "cannot replace what is in %s: %s; name another file with -o",
				 output->path, strerror(errno));
	/* Else it is written in smaller blocks. */
	output->buffer = malloc(BUFFER_BYTES);
	if (output->buffer)
		setvbuf(output->to, output->buffer, _IOFBF, BUFFER_BYTES);
	if (output->ops->state_bytes)
		output->state = calloc(1, output->ops->state_bytes);
	if ((output->ops->state_bytes && !output->state) ||
	    (output->ops->begin && !output->ops->begin(output)))
		return error_set(err, -ENOMEM, "no memory for the output");
	return 0;
}

int output_open(struct output *output, const struct options *options, struct error *err)
{
	int result = output_reserve(output, options, err);

	return result ? result : output_start(output, options, err);
}

void output_abandon(struct output *output)
{
	if (output->to && output->to != stdout)
		fclose(output->to);
	free(output->buffer);
	output->to = NULL;
	output->buffer = NULL;
}

int output_flush(struct output *output)
{
	/* What could not be written is dropped: only the first failure knows why. */
	if (output->problem)
		return output->problem;
	errno = 0;
	if (fflush(output->to) != 0 || ferror(output->to))
		output->problem = errno ? -errno : -EIO;
	return output->problem;
}

int output_close(struct output *output, struct error *err)
{
	int result;

	if (!output->end_ns)
		output->end_ns = clock_now_ns();
	if (output->ops->end)
		output->ops->end(output);
	if (output->ops->state_bytes)
		free(output->state);
	result = output_flush(output);
	/* It keeps its buffer otherwise, which goes. */
	if (output->buffer && output->path == NULL)
		setvbuf(stdout, NULL, _IONBF, 0);
	if (output->to != stdout && fclose(output->to) != 0 && result == 0)
		result = -errno;
	output->to = NULL;
	free(output->buffer);
	output->buffer = NULL;
	text_deinit(&output->line);
	stack_deinit(&output->narrowed);
	output_forget_kinds(output);
	if (result == 0 || result == -EPIPE)
		return 0;
	return error_set(err, result, "cannot write the output: %s (-o names another place)",
			 strerror(-result));
}

void output_line(struct output *output)
{
	struct text *line = &output->line;

	/* A part of a line would be taken for one. */
	if (text_ok(line))
		fwrite(text_chars(line), 1, line->length, output->to);
	else if (!output->problem)
		output->problem = -ENOMEM;
	text_clear(line);
}

void output_render(struct text *to, struct rendering *rendering, const void *item,
		   void (*render)(struct text *to, const void *item))
{
	size_t from = to->length;

	if (rendering && rendering->text) {
		text_add_bytes(to, rendering->text, rendering->length);
		return;
	}
	render(to, item);
	if (!rendering || !text_ok(to) || to->length == from)
		return;
	rendering->text = malloc(to->length - from);
	if (!rendering->text)
		return;
	rendering->length = to->length - from;
	memcpy(rendering->text, to->chars + from, rendering->length);
}

void output_printable(const struct output *output, const char *s)
{
	_cleanup_(text_deinit) struct text printable = { 0 };

	text_add_printable(&printable, s);
	fputs(text_chars(&printable), output->to);
}

void output_frame_name(struct text *to, const struct frame *frame)
{
	if (frame->name) {
		text_add_printable(to, frame->name);
		return;
	}
	text_add_char(to, '[');
	text_add_printable(to, frame->module ? frame->module : frame_kind_name(frame->kind));
	text_add_char(to, ']');
}

void output_swap(struct text *to, size_t from, const char *these, char by)
{
	for (size_t i = from; i < to->length; i++) {
		if (strchr(these, to->chars[i]))
			to->chars[i] = by;
	}
}

void output_add_utf8(struct text *to, const char *s)
{
	_cleanup_(text_deinit) struct text printable = { 0 };
	const char *at;

	text_add_printable(&printable, s);
	for (at = text_chars(&printable);; at++) {
		size_t good = text_utf8_prefix(at);

		text_add_bytes(to, at, good);
		at += good;
		if (!*at)
			break;
		text_add_char(to, '?');
	}
}

bool output_known_number(const struct rendering *rendering, uint32_t *number)
{
	if (!rendering || !rendering->text)
		return false;
	memcpy(number, rendering->text, sizeof(*number));
	return true;
}

void output_keep_number(struct rendering *rendering, uint32_t number)
{
	if (!rendering)
		return;
	rendering->length = sizeof(number);
	rendering->text = malloc(rendering->length);
	if (rendering->text)
		memcpy(rendering->text, &number, rendering->length);
}

void output_add_losses(struct text *to, const struct output_loss *losses)
{
	if (!losses->reason)
		text_add(to, "nothing");
	for (size_t i = 0; losses[i].reason; i++)
		text_printf(to, "%s%s %" PRIu64, i ? ", " : "", losses[i].reason, losses[i].count);
}

void output_add_inliners(const char *const *names, size_t count, struct text *out)
{
	size_t named = 0;

	for (; names[named]; named++)
		text_printf(out, "%s%s", named ? ", " : "", names[named]);
	if (named < count)
		text_add(out, ", ...");
}
