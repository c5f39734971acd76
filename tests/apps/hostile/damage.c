// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that rewrites at random what others read of it: its headers and tables in memory, and those of its files. */
#include "hostile.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	LIBRARIES = 4,
	BYTES_A_TURN = 64,
	BLOCK = 256,
	HEADERS_MAX = 16,
	PAGES = 256,
};

bool copy_program(const char *to);

static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *at, *code;

	if (fd < 0 || fstat(fd, &st) != 0)
		_exit(8);
	*size = (size_t)st.st_size;
	at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* So that it is looked at: as code. */
	code = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED || code == MAP_FAILED)
		_exit(9);
	close(fd);
	return at;
}

/* Mostly numbers that are not quite wrong: small, large, one more, one of elsewhere. */
static void damage(uint8_t *at, size_t size, uint64_t *seed)
{
	uint64_t where = draw(seed) % (size - sizeof(uint64_t)), word;

	memcpy(&word, at + where, sizeof(word));
	switch (draw(seed) % 6) {
	case 0:
		word = draw(seed);
		break;
	case 1:
		word += 1;
		break;
	case 2:
		word = UINT64_MAX;
		break;
	case 3:
		memcpy(&word, at + draw(seed) % (size - sizeof(word)), sizeof(word));
		break;
	case 4:
		word ^= UINT64_C(1) << draw(seed) % 64;
		break;
	default:
		word = draw(seed) % (2 * size);
	}
	memcpy(at + where, &word, sizeof(word));
}

/* Where in the file the headers and tables are, but not the code. */
static void damage_tables(uint8_t *at, size_t size, uint64_t *seed)
{
	static const uint32_t kinds[] = { SHT_SYMTAB,  SHT_STRTAB, SHT_DYNSYM,
					  SHT_DYNAMIC, SHT_NOTE,   SHT_PROGBITS };
	Elf64_Ehdr header;
	Elf64_Shdr section;
	size_t which = draw(seed) % 64;

	memcpy(&header, at, sizeof(header));
	if (draw(seed) % 8 == 0 || size < BLOCK)
		damage(at, size < BLOCK ? size : sizeof(header), seed);
	else if (header.e_shoff < size && size - header.e_shoff > BLOCK && which % 4 == 0)
		damage(at + header.e_shoff, size - header.e_shoff, seed);
	else if (header.e_shoff < size && (which + 1) * sizeof(section) < size - header.e_shoff) {
		memcpy(&section, at + header.e_shoff + which * sizeof(section), sizeof(section));
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (section.sh_type == kinds[i] && section.sh_offset < size &&
			    section.sh_size > sizeof(uint64_t) &&
			    section.sh_size <= size - section.sh_offset)
				damage(at + section.sh_offset, section.sh_size, seed);
		}
	} else
		damage(at, size, seed);
}

/* Libraries that look like this program, whose files are rewritten under the eyes of whoever reads them. */
void way_symbols(void)
{
	uint64_t seed = number | 1;
	uint8_t *files[LIBRARIES];
	size_t sizes[LIBRARIES];
	char path[512];

	for (size_t i = 0; i < LIBRARIES; i++) {
		snprintf(path, sizeof(path), "%s/lib%zu.so", directory, i);
		if (!copy_program(path))
			_exit(10);
		files[i] = map_file(path, &sizes[i]);
	}
	turns++;
	while (goes_on) {
		for (size_t i = 0; i < BYTES_A_TURN; i++) {
			size_t which = draw(&seed) % LIBRARIES;

			damage_tables(files[which], sizes[which], &seed);
		}
		/* Whole again, now and then: else nothing in there would be read for long. */
		if (turns % 16 == 0) {
			snprintf(path, sizeof(path), "%s/lib%zu.so", directory,
				 (size_t)(turns / 16 % LIBRARIES));
			copy_program(path);
		}
		usleep(200);
		turns++;
	}
}

/* Files that are cut while they are read, and are whole again. */
void way_truncate(void)
{
	uint64_t seed = number | 1;
	char path[512];
	size_t size;

	snprintf(path, sizeof(path), "%s/cut.so", directory);
	if (!copy_program(path))
		_exit(11);
	if (!map_file(path, &size))
		_exit(12);
	turns++;
	while (goes_on) {
		if (truncate(path, (off_t)(draw(&seed) % size)) != 0)
			_exit(12);
		usleep(500);
		copy_program(path);
		usleep(500);
		turns++;
	}
}

struct headers {
	uint8_t *pages[HEADERS_MAX];
	size_t count;
};

/* The first page of each library: its header, the segments, and what notes there are. */
static int find_headers(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct headers *headers = ctx;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum && headers->count < HEADERS_MAX; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint8_t *at = (uint8_t *)info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_offset == 0 &&
		    !(segment->p_flags & PF_X) && mprotect(at, PAGE, PROT_READ | PROT_WRITE) == 0)
			headers->pages[headers->count++] = at;
	}
	return 0;
}

/* Its own memory, where debuggers look: ELF headers, the loader's list, and pages that come and go. */
void way_memory(void)
{
	const size_t bytes = (size_t)PAGES * PAGE;
	struct headers headers = { .count = 0 };
	struct r_debug whole = _r_debug;
	uint64_t seed = number | 1;

	dl_iterate_phdr(find_headers, &headers);
	if (headers.count == 0)
		_exit(13);
	while (goes_on || turns == 0) {
		uint8_t *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			_exit(14);
		for (size_t i = 0; i < headers.count; i++)
			damage(headers.pages[i], sizeof(ElfW(Ehdr)) + 8 * sizeof(ElfW(Phdr)),
			       &seed);
		for (size_t i = 0; i < BYTES_A_TURN; i++)
			damage(pages, bytes, &seed);
		_r_debug.r_map = (struct link_map *)(pages + draw(&seed) % bytes);
		_r_debug.r_version = (int)draw(&seed);
		if (turns % 4 == 0)
			_r_debug = whole;
		munmap(pages + draw(&seed) % (PAGES - 1) * PAGE, PAGE);
		make_hit(1);
		usleep(500);
		munmap(pages, bytes);
		turns++;
	}
	_r_debug = whole;
}
