// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of crossgen2's --map and --mapcsv. */
#include "rows.h"

#include <stdio.h>

static const char method_node[] = "MethodWithGCInfo";

/* The assembly's own name is in the image's symbols, as __CorHeader_app. */
static void note_assembly(struct mapparse_rows *rows, const struct mapparse_row *row)
{
	struct mapparse_slice symbol = row->raw_name;
	char *assembly = rows->header->assembly;
	size_t size = sizeof(rows->header->assembly);

	if (assembly[0] || !line_skip(&symbol, "__CorHeader_") || symbol.length >= size)
		return;
	memcpy(assembly, symbol.start, symbol.length);
	assembly[symbol.length] = '\0';
}

static enum mapparse_line finish_row(struct mapparse_rows *rows, struct mapparse_row *row)
{
	const char *assembly = rows->assembly;

	if (!slice_is(row->node_type, method_node)) {
		row->kind = MAPPARSE_KIND_SECTION;
		note_assembly(rows, row);
		return MAPPARSE_LINE_ROW;
	}
	row->kind = MAPPARSE_KIND_METHOD;
	row->tier = MAPPARSE_TIER_R2R;
	if (rows->skip_names)
		return MAPPARSE_LINE_ROW;
	if (!assembly && rows->header->assembly[0])
		assembly = rows->header->assembly;
	if (mapparse_name_demangle(rows->name, assembly, row->raw_name.start,
				   row->raw_name.length) != 0)
		return mapparse_rows_bad(rows, "the symbol is no Type__Method");
	row->name = rows->name;
	return MAPPARSE_LINE_ROW;
}

/* A number that fills its field; NONE where something else stands beside it. */
static enum mapparse_number read_number(struct mapparse_slice field, unsigned int base,
					uint64_t *value)
{
	enum mapparse_number result;

	field = line_trim(field);
	if (base == 16 && !line_skip(&field, "0x"))
		return MAPPARSE_NUMBER_NONE;
	result = line_number(&field, base, value);
	return field.length ? MAPPARSE_NUMBER_NONE : result;
}

/* --map ------------------------------------------------------------------------------------ */

/* INDEX | FILEOFFSET | RVA | END_RVA | LENGTH | NAME */
static enum mapparse_line read_section(struct mapparse_rows *rows, struct mapparse_slice line)
{
	struct mapparse_header *header = rows->header;
	struct mapparse_slice field;
	uint64_t numbers[4];
	struct mapparse_section *section;

	if (!line_field(&line, '|', &field))
		return MAPPARSE_LINE_NONE; /* the rule below the heading */
	for (unsigned int i = 0; i < 4; i++) {
		if (!line_field(&line, '|', &field) ||
		    read_number(field, 16, &numbers[i]) != MAPPARSE_NUMBER_OK ||
		    numbers[i] > UINT32_MAX)
			return mapparse_rows_bad(rows, "the row of the section table is damaged");
	}
	if (header->section_count == MAPPARSE_SECTIONS_MAX)
		return mapparse_rows_bad(rows, "the image has more sections than any has");
	line = line_trim(line);
	section = &header->sections[header->section_count++];
	snprintf(section->name, sizeof(section->name), "%.*s", (int)line.length, line.start);
	section->file_offset = (uint32_t)numbers[0];
	section->rva = (uint32_t)numbers[1];
	section->end_rva = (uint32_t)numbers[2];
	section->length = (uint32_t)numbers[3];
	return MAPPARSE_LINE_NONE;
}

/* RVA | LENGTH | RELOCS | SECTION | SYMBOL  (NODE), or without length and node: a label. */
static enum mapparse_line read_node(struct mapparse_rows *rows, struct mapparse_slice line,
				    struct mapparse_row *row)
{
	struct mapparse_slice rva, length, relocs;
	enum mapparse_line result;
	const char *open;

	if (!line_field(&line, '|', &rva))
		return slice_begins(line, "---") ?
			       MAPPARSE_LINE_NONE :
			       mapparse_rows_bad(
				       rows,
				       "the row is no RVA | LENGTH | RELOCS | SECTION | SYMBOL");
	if (!line_field(&line, '|', &length) || !line_field(&line, '|', &relocs) ||
	    !line_field(&line, '|', &row->section))
		return mapparse_rows_bad(rows, "the row ends before its fifth column");
	row->section = line_trim(row->section);
	row->raw_name = line_trim(line);
	length = line_trim(length);
	result = mapparse_rows_range(
		rows, read_number(rva, 16, &row->address),
		length.length ? read_number(length, 16, &row->size) : MAPPARSE_NUMBER_OK, row);
	if (result != MAPPARSE_LINE_ROW)
		return result;
	if (!length.length || row->is_cut) {
		row->kind = MAPPARSE_KIND_SECTION;
		return MAPPARSE_LINE_ROW;
	}
	open = memrchr(row->raw_name.start, '(', row->raw_name.length);
	if (!open || !slice_ends(row->raw_name, ")"))
		return mapparse_rows_bad(rows, "the row does not end with its node's type");
	row->node_type = slice_of(open + 1, slice_end(row->raw_name) - 1);
	row->raw_name = line_trim(slice_of(row->raw_name.start, open));
	return finish_row(rows, row);
}

enum mapparse_line mapparse_rows_read_map(struct mapparse_rows *rows, struct mapparse_slice line,
					  struct mapparse_row *row)
{
	/*
	 * Every table has a title of its own, those we have no use for are passed over; one that
	 * lost its title is told by its rows.
	 */
	if (slice_is(line, "Section Map") || slice_begins(line, "INDEX "))
		rows->table = MAPPARSE_TABLE_SECTIONS;
	else if (slice_is(line, "Node & Symbol Map") || slice_begins(line, "RVA  "))
		rows->table = MAPPARSE_TABLE_NODES;
	else if (slice_ends(line, " Statistics") || slice_is(line, "Summary Info") ||
		 slice_begins(line, "Top Nodes By "))
		rows->table = MAPPARSE_TABLE_OTHER;
	else if (rows->table == MAPPARSE_TABLE_SECTIONS && !slice_begins(line, "---"))
		return read_section(rows, line);
	else if (rows->table == MAPPARSE_TABLE_NODES ||
		 (rows->table == MAPPARSE_TABLE_OTHER && slice_begins(line, "0x")))
		return read_node(rows, line, row);
	return MAPPARSE_LINE_NONE;
}

/* --mapcsv --------------------------------------------------------------------------------- */

static struct mapparse_slice unquote(struct mapparse_slice s)
{
	if (s.length >= 2 && s.start[0] == '"' && s.start[s.length - 1] == '"')
		return (struct mapparse_slice){ s.start + 1, s.length - 2 };
	return s;
}

/* Rva,Length,Relocs,Section,Symbol,Node Type. Nothing is quoted, symbols may have commas. */
enum mapparse_line mapparse_rows_read_csv(struct mapparse_rows *rows, struct mapparse_slice line,
					  struct mapparse_row *row)
{
	struct mapparse_slice rva, length, relocs, node;
	enum mapparse_line result;

	if (slice_begins(line, "Rva,Length,"))
		return MAPPARSE_LINE_NONE;
	if (!line_field(&line, ',', &rva) || !line_field(&line, ',', &length) ||
	    !line_field(&line, ',', &relocs) || !line_field(&line, ',', &row->section))
		return mapparse_rows_bad(rows, "the row has less than six columns");
	result = mapparse_rows_range(
		rows, read_number(rva, 16, &row->address),
		length.length ? read_number(length, 10, &row->size) : MAPPARSE_NUMBER_OK, row);
	if (result != MAPPARSE_LINE_ROW)
		return result;
	if (!length.length || row->is_cut) {
		/* A label: symbol and node type have changed places. */
		line_skip(&line, ",");
		row->raw_name = unquote(line);
		row->kind = MAPPARSE_KIND_SECTION;
		return MAPPARSE_LINE_ROW;
	}
	if (!line_last_field(&line, ',', &node))
		return mapparse_rows_bad(rows, "the row has less than six columns");
	row->raw_name = unquote(line);
	row->node_type = unquote(node);
	return finish_row(rows, row);
}
