// SPDX-License-Identifier: GPL-2.0-or-later
/* From section headers to a table of symbols and its names: for elf.c and runtime/native/. */
#include "image/symbol_table.h"

#include <errno.h>
#include <unistd.h>

enum { PART_BYTES = 128 /* of a name, at a time */ };

/* The section headers of a file. */
struct sections {
	struct span file;
	struct span headers;
	size_t count;
};

static Elf64_Shdr header_of(const struct sections *sections, size_t number)
{
	Elf64_Shdr header;

	memcpy(&header, sections->headers.start + number * sizeof(header), sizeof(header));
	return header;
}

static bool find_sections(struct sections *sections, struct span file)
{
	Elf64_Ehdr elf;

	if (!span_copy(file, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff == 0)
		return false;
	sections->file = file;
	sections->count = elf.e_shnum;
	sections->headers = span_part(file, elf.e_shoff, sizeof(Elf64_Shdr));
	/* Of very many sections the first says how many. */
	if (sections->headers.start && sections->count == 0)
		sections->count = header_of(sections, 0).sh_size;
	if (sections->count > file.size / sizeof(Elf64_Shdr))
		return false;
	sections->headers = span_part(file, elf.e_shoff, sections->count * sizeof(Elf64_Shdr));
	return sections->headers.start;
}

/* None if it is compressed: then no name is in the file. */
static struct span bytes_of(const struct sections *sections, const Elf64_Shdr *header)
{
	if (header->sh_flags & SHF_COMPRESSED)
		return (struct span){ 0 };
	return span_part(sections->file, header->sh_offset, header->sh_size);
}

/* Up to the last that ends. */
static struct span names_of(const struct sections *sections, uint32_t number)
{
	struct span names = { 0 };
	Elf64_Shdr header;

	if (number >= sections->count)
		return names;
	header = header_of(sections, number);
	if (header.sh_type == SHT_STRTAB)
		names = bytes_of(sections, &header);
	while (names.size && names.start[names.size - 1])
		names.size--;
	return names;
}

bool symbol_table_find(struct symbol_table *table, struct span file, uint32_t type)
{
	struct sections sections;

	*table = (struct symbol_table){ .count = 0 };
	if (!find_sections(&sections, file))
		return false;
	for (size_t i = 0; i < sections.count; i++) {
		Elf64_Shdr header = header_of(&sections, i);

		if (header.sh_type != type)
			continue;
		table->symbols = bytes_of(&sections, &header);
		table->names = names_of(&sections, header.sh_link);
		if (header.sh_entsize == sizeof(Elf64_Sym))
			table->count = table->symbols.size / sizeof(Elf64_Sym);
		return true;
	}
	return false;
}

/* The hash ----------------------------------------------------------------------------------- */

/* Its header and what is behind that, but for a filter of names that it has not. */
struct hash {
	uint32_t bucket_count;
	uint32_t first; /* symbol that is in it: those before it are imports */
	struct span buckets;
	struct span chain; /* along the symbols from @first on */
};

static bool find_hash(struct hash *hash, struct span file)
{
	enum { HEADER_BYTES = 16 };
	struct symbol_table table;
	uint32_t filter_words;
	struct cursor c;

	if (!symbol_table_find(&table, file, SHT_GNU_HASH))
		return false;
	c = cursor_over(table.symbols);
	hash->bucket_count = cursor_u32(&c);
	hash->first = cursor_u32(&c);
	filter_words = cursor_u32(&c);
	cursor_skip(&c, sizeof(uint32_t));
	cursor_skip(&c, (uint64_t)filter_words * sizeof(uint64_t));
	hash->buckets = cursor_take(&c, (uint64_t)hash->bucket_count * sizeof(uint32_t));
	hash->chain = cursor_take(&c, cursor_left(&c));
	return cursor_ok(&c) && hash->bucket_count;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* A file that is open is read; else it is touched where it is mapped. */
struct place {
	struct span file;
	int fd;
};

/* @size bytes of @whole, a part of the file, from @offset on. False: they are not all there. */
static bool copy_part(const struct place *place, struct span whole, uint64_t offset, void *to,
		      size_t size)
{
	const struct span part = span_part(whole, offset, size);

	if (!part.start)
		return false;
	if (place->fd < 0)
		return span_copy(part, to, size);
	return pread(place->fd, to, size, part.start - place->file.start) == (ssize_t)size;
}

/* With the NUL that ends it. */
static bool is_called(const struct place *place, struct span names, const Elf64_Sym *symbol,
		      const char *name)
{
	const size_t size = strlen(name) + 1;
	char part[PART_BYTES];
	size_t count;

	for (size_t at = 0; at < size; at += count) {
		count = size - at < sizeof(part) ? size - at : sizeof(part);
		if (!copy_part(place, names, (uint64_t)symbol->st_name + at, part, count) ||
		    memcmp(part, name + at, count) != 0)
			return false;
	}
	return true;
}

int symbol_table_look_up(const struct symbol_table *table, struct span file, int fd,
			 const char *name, Elf64_Sym *symbol)
{
	const struct place place = { file, fd };
	const uint32_t wanted = hash_of(name);
	uint32_t number, found;
	struct hash hash;

	if (!find_hash(&hash, file))
		return -ENODATA;
	if (!copy_part(&place, hash.buckets, (wanted % hash.bucket_count) * sizeof(number), &number,
		       sizeof(number)) ||
	    number < hash.first)
		return -ENOENT;
	for (; number < table->count; number++) {
		if (!copy_part(&place, hash.chain, (number - hash.first) * sizeof(found), &found,
			       sizeof(found)))
			break;
		if ((found | 1) == (wanted | 1) &&
		    copy_part(&place, table->symbols, number * sizeof(*symbol), symbol,
			      sizeof(*symbol)) &&
		    is_called(&place, table->names, symbol, name))
			return 0;
		/* The last of the bucket. */
		if (found & 1)
			break;
	}
	return -ENOENT;
}
