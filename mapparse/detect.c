// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which format is it? By content, since everything is called .map. Not by the first row
 * alone, which may be damaged: the lines at hand vote.
 */
#include <errno.h>

#include "rows.h"

enum {
	VOTERS_MAX = 256,
	FORMATS = MAPPARSE_FORMAT_PERFINFO + 1,
	SURE = 1000, /* outvotes all others */
	WIDE_SAMPLE = 512,
	WIDE_MIN = 16,
};

static struct mapparse_detection refuse(int error, const char *reason)
{
	return (struct mapparse_detection){ .error = error, .reason = reason };
}

/* Text in ASCII, but every other byte is 0: UTF-16 without a byte order mark. */
static bool is_wide(const char *bytes, size_t length)
{
	size_t zero[2] = { 0, 0 };

	if (length > WIDE_SAMPLE)
		length = WIDE_SAMPLE;
	for (size_t i = 0; i < length; i++)
		zero[i & 1] += bytes[i] == '\0';
	return length >= WIDE_MIN && ((zero[0] * 10 >= length * 4 && zero[1] * 10 < length) ||
				      (zero[1] * 10 >= length * 4 && zero[0] * 10 < length));
}

/* Control characters other than ends of lines, of which a text has next to none. */
static bool is_binary(const char *bytes, size_t length)
{
	size_t control = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)bytes[i];

		control += (c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
	}
	return control * 10 > length;
}

static bool is_blank(struct mapparse_slice s)
{
	for (size_t i = 0; i < s.length; i++) {
		if (s.start[i] != '\0' && !strchr(" \t\r\n", s.start[i]))
			return false;
	}
	return true;
}

static size_t hex_run(struct mapparse_slice s, bool *lower)
{
	size_t i;

	*lower = false;
	for (i = 0; i < s.length && line_hex_digit(s.start[i]) >= 0; i++)
		*lower |= s.start[i] >= 'a';
	return i;
}

/* "ADDRESS SIZE NAME": whose, the number of digits tells. */
static void vote_range(struct mapparse_slice line, unsigned int votes[FORMATS])
{
	bool prefixed = line_skip_hex(&line);
	struct mapparse_slice rest = line;
	bool address_lower, size_lower;
	size_t digits = hex_run(line, &address_lower), size_digits;
	uint64_t address;

	line_number(&rest, 16, &address);
	if (digits == 0 || !line_skip(&rest, " "))
		return;
	rest = line_trim(rest);
	line_skip(&rest, "0x");
	size_digits = hex_run(rest, &size_lower);
	if (size_digits == 0 || rest.length < size_digits + 2 || rest.start[size_digits] != ' ')
		return;
	/* The first runtimes padded addresses of processes as well, but those are large. */
	if (!prefixed && digits == 8 && !address_lower && size_digits >= 2 && !size_lower)
		votes[MAPPARSE_FORMAT_CROSSGEN2] += slice_begins(line, "FFFFFFF") ? SURE : 1;
	else if (!prefixed && digits == 16 && address <= UINT32_MAX)
		votes[MAPPARSE_FORMAT_CROSSGEN]++;
	else
		votes[MAPPARSE_FORMAT_PERF_MAP]++;
}

static void vote(struct mapparse_slice line, unsigned int votes[FORMATS])
{
	struct mapparse_slice rest = line;
	uint64_t number;
	bool is_hex =
		line_skip(&rest, "0x") && line_number(&rest, 16, &number) != MAPPARSE_NUMBER_NONE;

	if (slice_begins(line, "Rva,Length,Relocs,Section,Symbol"))
		votes[MAPPARSE_FORMAT_CROSSGEN2_CSV] += SURE;
	else if (slice_is(line, "Summary Info") || slice_is(line, "Node Type Statistics") ||
		 slice_is(line, "Section Map") || slice_is(line, "Node & Symbol Map"))
		votes[MAPPARSE_FORMAT_CROSSGEN2_MAP] += SURE;
	else if (slice_begins(line, "ImageLoad;"))
		votes[MAPPARSE_FORMAT_PERFINFO]++;
	else if (is_hex && slice_begins(rest, ","))
		votes[MAPPARSE_FORMAT_CROSSGEN2_CSV]++;
	else if (is_hex && slice_begins(rest, " | "))
		votes[MAPPARSE_FORMAT_CROSSGEN2_MAP]++;
	else
		vote_range(line, votes);
}

static enum mapparse_format count_votes(const char *bytes, size_t length, bool is_all)
{
	unsigned int votes[FORMATS] = { 0 }, voters = 0;
	enum mapparse_format best = MAPPARSE_FORMAT_UNKNOWN;
	struct mapparse_slice rest = { bytes, length };

	while (rest.length && voters < VOTERS_MAX) {
		struct mapparse_slice line;
		size_t end = 0;

		while (end < rest.length && rest.start[end] != '\n' && rest.start[end] != '\0')
			end++;
		if (end == rest.length && !is_all && voters)
			break; /* only part of a line */
		line = line_trim((struct mapparse_slice){ rest.start, end });
		end += end < rest.length;
		rest = slice_of(rest.start + end, slice_end(rest));
		if (!line.length)
			continue;
		voters++;
		vote(line, votes);
	}
	for (unsigned int i = 1; i < FORMATS; i++) {
		if (votes[i] > votes[best])
			best = (enum mapparse_format)i;
	}
	return best;
}

struct mapparse_detection mapparse_detect(const char *bytes, size_t length, bool is_all)
{
	struct mapparse_slice text = { bytes, length };
	struct mapparse_detection found = { .error = 0 };

	if (slice_begins(text, "\xff\xfe") || slice_begins(text, "\xfe\xff") ||
	    is_wide(bytes, length))
		return refuse(-ENOTSUP,
			      "the file is in UTF-16; convert it to UTF-8, as with iconv");
	if (slice_begins(text, "\177ELF") || slice_begins(text, "MZ") ||
	    slice_begins(text, "\x1f\x8b") || slice_begins(text, "BSJB"))
		return refuse(-EINVAL, "the file is a program or an archive, not a map");
	if (slice_begins(text, "Length,% Of File,"))
		return refuse(-EINVAL, "the file has crossgen2's statistics; the map is the other "
				       "file, NAME.map.csv");
	if (line_skip(&text, "\xef\xbb\xbf"))
		found.skip = length - text.length;
	found.format = count_votes(text.start, text.length, is_all);
	if (found.format != MAPPARSE_FORMAT_UNKNOWN)
		return found;
	if (is_blank(text))
		return refuse(-ENODATA, "the file is empty");
	if (is_binary(text.start, text.length))
		return refuse(-EINVAL, "the file is binary, not a map");
	return refuse(-EINVAL, "the file is in none of the known map formats");
}
