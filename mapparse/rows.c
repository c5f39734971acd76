// SPDX-License-Identifier: GPL-2.0-or-later
/* The formats in which a row is: address, size, name. */
#include "rows.h"

enum {
	/* crossgen2's first rows are no RVAs but facts, counted down from the end. */
	FACT_SIGNATURE = 0xffffffff,
	FACT_VERSION = 0xfffffffe,
	FACT_FIRST = 0xffffff00,

	PERFMAP_VERSION = 1,
};

enum mapparse_line mapparse_rows_range(struct mapparse_rows *rows, enum mapparse_number address,
				       enum mapparse_number size, struct mapparse_row *row)
{
	if (address == MAPPARSE_NUMBER_NONE)
		return mapparse_rows_bad(rows, "the row does not begin with an address");
	if (address == MAPPARSE_NUMBER_LARGE)
		return mapparse_rows_bad(rows, "the address is past 2^64");
	if (size == MAPPARSE_NUMBER_NONE)
		return mapparse_rows_bad(rows, "there is no size behind the address");
	if (size == MAPPARSE_NUMBER_LARGE)
		return mapparse_rows_bad(rows, "the size is past 2^64");
	if (row->size > UINT64_MAX - row->address)
		return mapparse_rows_bad(rows, "address and size together are past 2^64");
	if (!row->is_absolute && row->address + row->size > UINT32_MAX)
		return mapparse_rows_bad(rows, "the RVA is past 4 GiB, where no image has code");
	return MAPPARSE_LINE_ROW;
}

static enum mapparse_number hex_number(struct mapparse_slice *line, uint64_t *value)
{
	line_skip_hex(line);
	return line_number(line, 16, value);
}

/* "ADDRESS SIZE " in hexadecimal, cut off @line; what is left is the name. */
static enum mapparse_line read_range(struct mapparse_rows *rows, struct mapparse_slice *line,
				     struct mapparse_row *row)
{
	enum mapparse_number address, size = MAPPARSE_NUMBER_NONE;
	enum mapparse_line result;

	address = hex_number(line, &row->address);
	if (line_skip(line, " ")) {
		*line = line_trim(*line);
		size = hex_number(line, &row->size);
	} else if (address == MAPPARSE_NUMBER_OK) {
		address = MAPPARSE_NUMBER_NONE;
	}
	result = mapparse_rows_range(rows, address, size, row);
	if (result != MAPPARSE_LINE_ROW)
		return result;
	if (!line_skip(line, " "))
		return mapparse_rows_bad(rows, line->length ? "the size is no number" :
							      "there is no name");
	*line = line_trim(*line);
	return line->length ? MAPPARSE_LINE_ROW : mapparse_rows_bad(rows, "there is no name");
}

/* False if the name cannot be parsed; one that is not to be, or lacks its end, is left alone. */
static bool parse_name(struct mapparse_rows *rows, enum mapparse_spelling spelling,
		       struct mapparse_row *row)
{
	if (rows->skip_names || row->is_cut)
		return true;
	if (mapparse_name_parse(rows->name, spelling, row->raw_name.start, row->raw_name.length))
		return false;
	row->name = rows->name;
	return true;
}

/* A row of crossgen's: a method with its name. */
static enum mapparse_line read_method(struct mapparse_rows *rows, struct mapparse_slice line,
				      enum mapparse_spelling spelling, struct mapparse_row *row)
{
	enum mapparse_line result = read_range(rows, &line, row);

	if (result != MAPPARSE_LINE_ROW)
		return result;
	row->raw_name = line;
	row->tier = MAPPARSE_TIER_R2R;
	return parse_name(rows, spelling, row) ?
		       MAPPARSE_LINE_ROW :
		       mapparse_rows_bad(rows, "the name is no Type::Method");
}

static bool read_signature(struct mapparse_slice text, uint8_t signature[16])
{
	if (text.length != 32)
		return false;
	for (size_t i = 0; i < 16; i++) {
		int high = line_hex_digit(text.start[2 * i]);
		int low = line_hex_digit(text.start[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		signature[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static enum mapparse_line read_fact(struct mapparse_rows *rows, uint64_t fact,
				    struct mapparse_slice text)
{
	struct mapparse_header *header = rows->header;
	/* From FACT_VERSION down. */
	uint32_t *const numbers[] = { &header->perfmap_version, &header->os, &header->arch,
				      &header->abi };
	uint64_t value;

	if (fact == FACT_SIGNATURE) {
		header->has_signature = read_signature(text, header->signature);
		return header->has_signature ?
			       MAPPARSE_LINE_NONE :
			       mapparse_rows_bad(rows,
						 "the signature is not 32 hexadecimal digits");
	}
	if (line_number(&text, 10, &value) != MAPPARSE_NUMBER_OK || text.length ||
	    value > UINT32_MAX)
		return mapparse_rows_bad(rows, "this line of the header is no number");
	/* Those further down are a later version's, of no use to us. */
	if (FACT_VERSION - fact < sizeof(numbers) / sizeof(numbers[0]))
		*numbers[FACT_VERSION - fact] = (uint32_t)value;
	if (fact != FACT_VERSION || value == PERFMAP_VERSION)
		return MAPPARSE_LINE_NONE;
	rows->reason = "this perfmap version is not known (version 1 is)";
	return MAPPARSE_LINE_REFUSED;
}

static enum mapparse_line read_crossgen2(struct mapparse_rows *rows, struct mapparse_slice line,
					 struct mapparse_row *row)
{
	struct mapparse_slice rest = line;
	uint64_t fact, zero;

	if (line.length > 9 && slice_begins(line, "FFFFFF") &&
	    line_number(&rest, 16, &fact) == MAPPARSE_NUMBER_OK && fact >= FACT_FIRST &&
	    fact <= UINT32_MAX && line_skip(&rest, " ") &&
	    line_number(&rest, 16, &zero) == MAPPARSE_NUMBER_OK && zero == 0 &&
	    line_skip(&rest, " "))
		return read_fact(rows, fact, rest);
	return read_method(rows, line, MAPPARSE_SPELLING_CLR, row);
}

/* Without "Type::Method(...)" it is some other program's, or a row that lost its end. */
static enum mapparse_line read_perf(struct mapparse_rows *rows, struct mapparse_slice line,
				    struct mapparse_row *row)
{
	enum mapparse_line result;

	row->is_absolute = true;
	result = read_range(rows, &line, row);
	if (result != MAPPARSE_LINE_ROW)
		return result;
	row->raw_name = line;
	mapparse_rows_classify_perf(row);
	if (row->kind == MAPPARSE_KIND_METHOD && !parse_name(rows, MAPPARSE_SPELLING_ANY, row))
		row->kind = MAPPARSE_KIND_OTHER;
	return MAPPARSE_LINE_ROW;
}

static enum mapparse_line read_row(struct mapparse_rows *rows, struct mapparse_slice line,
				   struct mapparse_row *row)
{
	switch (rows->header->format) {
	case MAPPARSE_FORMAT_CROSSGEN:
		return read_method(rows, line, MAPPARSE_SPELLING_IL, row);
	case MAPPARSE_FORMAT_CROSSGEN2:
		return read_crossgen2(rows, line, row);
	case MAPPARSE_FORMAT_CROSSGEN2_MAP:
		return mapparse_rows_read_map(rows, line, row);
	case MAPPARSE_FORMAT_CROSSGEN2_CSV:
		return mapparse_rows_read_csv(rows, line, row);
	case MAPPARSE_FORMAT_PERF_MAP:
		return read_perf(rows, line, row);
	case MAPPARSE_FORMAT_PERFINFO:
		return mapparse_rows_read_perfinfo(rows, line, row);
	default:
		return mapparse_rows_bad(rows, "the format is not known");
	}
}

enum mapparse_line mapparse_rows_read(struct mapparse_rows *rows, struct mapparse_slice line,
				      bool is_cut, struct mapparse_row *row)
{
	enum mapparse_line result;

	*row = (struct mapparse_row){ .kind = MAPPARSE_KIND_METHOD, .is_cut = is_cut };
	result = read_row(rows, line, row);
	if (result == MAPPARSE_LINE_ROW && row->size == 0 && row->kind != MAPPARSE_KIND_SECTION &&
	    row->kind != MAPPARSE_KIND_IMAGE)
		result = mapparse_rows_bad(rows, "the size is 0");
	return result;
}

bool mapparse_rows_is_whole(enum mapparse_format format, struct mapparse_slice line)
{
	switch (format) {
	case MAPPARSE_FORMAT_CROSSGEN:
	case MAPPARSE_FORMAT_CROSSGEN2:
	case MAPPARSE_FORMAT_CROSSGEN2_MAP:
		return slice_ends(line, ")");
	case MAPPARSE_FORMAT_CROSSGEN2_CSV:
		return slice_ends(line, ",MethodWithGCInfo") || slice_ends(line, "Node") ||
		       slice_ends(line, "Node Type");
	case MAPPARSE_FORMAT_PERFINFO:
		return slice_ends(line, ";");
	default:
		return slice_ends(line, ")") || slice_ends(line, "]") || slice_ends(line, ">");
	}
}
