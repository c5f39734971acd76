// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source of the rules: Linux, fs/exec.c (exec_binprm), fs/binfmt_script.c, fs/binfmt_elf.c.
 * Files are read and not mapped: they may be written to meanwhile.
 */
#include "target/loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/cursor.h"

enum {
	SCRIPTS_MAX = 5,	     /* exec_binprm(): more give ELOOP */
	LINE_MAX_BYTES = 256,	     /* BINPRM_BUF_SIZE */
	HEADERS_MAX_BYTES = 1 << 16, /* load_elf_phdrs() */
};

/* As many of the @size bytes at @offset as the file has; or -errno. */
static ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t used = 0;

	if (offset > INT64_MAX - size)
		return 0;
	while (used < size) {
		ssize_t got = pread(fd, (char *)bytes + used, size - used, (off_t)(offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static int refuse(const char *file, int code, const char *why, struct error *err)
{
	return error_set(err, code,
			 "cannot tell the dynamic loader of %s: %s (start it, and give its PID)",
			 file, why);
}

/* ELF ----------------------------------------------------------------------------------- */

struct program_headers {
	uint64_t offset;
	unsigned int count;
};

static int read_header(const char *file, struct span head, struct program_headers *headers,
		       struct error *err)
{
	struct cursor c = cursor_over(head);
	struct span ident = cursor_take(&c, EI_NIDENT);
	uint16_t machine, entry_size;

	if (!cursor_ok(&c) || memcmp(ident.start, ELFMAG, SELFMAG) != 0)
		return refuse(file, -ENOEXEC, "it is no program, and no script with a #! line",
			      err);
	cursor_skip(&c, sizeof(uint16_t)); /* e_type */
	machine = cursor_u16(&c);
	if (cursor_ok(&c) && (ident.start[EI_CLASS] != ELFCLASS64 || machine != arch.elf_machine))
		return error_set(
			err, -ENOTSUP,
			"cannot tell the dynamic loader of %s: it is no %s program; start it, and give its PID",
			file, arch.name);
	c = cursor_at(&c, offsetof(Elf64_Ehdr, e_phoff));
	headers->offset = cursor_u64(&c);
	c = cursor_at(&c, offsetof(Elf64_Ehdr, e_phentsize));
	entry_size = cursor_u16(&c);
	headers->count = cursor_u16(&c);
	if (!cursor_ok(&c) || entry_size != sizeof(Elf64_Phdr) || headers->count == 0 ||
	    headers->count * sizeof(Elf64_Phdr) > HEADERS_MAX_BYTES)
		return refuse(file, -ENOEXEC, "its ELF header is damaged", err);
	return 0;
}

/* Where the first PT_INTERP is: the kernel looks at no other. False if there is none. */
static bool find_interpreter(struct span bytes, unsigned int count, uint64_t *offset,
			     uint64_t *size)
{
	struct cursor c = cursor_over(bytes);

	for (unsigned int i = 0; i < count; i++) {
		uint32_t type = cursor_u32(&c);

		cursor_skip(&c, sizeof(uint32_t)); /* p_flags */
		*offset = cursor_u64(&c);
		cursor_skip(&c, 2 * sizeof(uint64_t)); /* p_vaddr, p_paddr */
		*size = cursor_u64(&c);
		cursor_skip(&c, 2 * sizeof(uint64_t)); /* p_memsz, p_align */
		if (type == PT_INTERP)
			return true;
	}
	return false;
}

/* The path in PT_INTERP of the ELF file that begins with @head; NULL if it has none. */
static int read_interpreter(const char *file, int fd, struct span head, char **path,
			    struct error *err)
{
	struct program_headers headers;
	uint64_t offset = 0, size = 0;
	char text[PATH_MAX];
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t wanted;
	int result = read_header(file, head, &headers, err);

	if (result)
		return result;
	wanted = headers.count * sizeof(Elf64_Phdr);
	bytes = malloc(wanted);
	if (!bytes)
		return refuse(file, -ENOMEM, strerror(ENOMEM), err);
	if (read_at(fd, bytes, wanted, headers.offset) != (ssize_t)wanted)
		return refuse(file, -ENOEXEC, "its program headers are cut off", err);
	if (!find_interpreter((struct span){ bytes, wanted }, headers.count, &offset, &size))
		return 0;
	if (size < 2 || size > sizeof(text) ||
	    read_at(fd, text, (size_t)size, offset) != (ssize_t)size || text[size - 1] != '\0')
		return refuse(file, -ENOEXEC, "its PT_INTERP is damaged", err);
	*path = strdup(text);
	return *path ? 0 : refuse(file, -ENOMEM, strerror(ENOMEM), err);
}

/* Scripts ------------------------------------------------------------------------------- */

/* The interpreter's name after "#!" in @line, cut out in place; NULL if it is none or cut off. */
static char *script_interpreter(char line[LINE_MAX_BYTES + 1])
{
	char *name = line + 2 + strspn(line + 2, " \t");
	size_t length = strcspn(name, " \t\n");

	if (length == 0 || name + length == line + LINE_MAX_BYTES)
		return NULL;
	name[length] = '\0';
	return name;
}

/*
 * One step: @file is an ELF file, then *@path is its loader or NULL; or a script, then *@path
 * is its interpreter and *@script is set.
 */
static int look_at(const char *file, char **path, bool *script, struct error *err)
{
	char line[LINE_MAX_BYTES + 1] = { 0 };
	const char *name;
	ssize_t got;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*path = NULL;
	if (fd < 0)
		return refuse(file, -errno, strerror(errno), err);
	got = read_at(fd, line, LINE_MAX_BYTES, 0);
	*script = got >= 2 && memcmp(line, "#!", 2) == 0;
	if (got < 0)
		return refuse(file, (int)got, strerror((int)-got), err);
	if (!*script)
		return read_interpreter(
			file, fd, (struct span){ (const uint8_t *)line, (size_t)got }, path, err);
	name = script_interpreter(line);
	*path = name ? strdup(name) : NULL;
	return *path ? 0 : refuse(file, -ENOEXEC, "its #! line names no program", err);
}

int loader_find(const char *program, char **elf, char **path, struct error *err)
{
	_cleanup_free_ char *file = strdup(program);
	bool script = true;

	*elf = *path = NULL;
	if (!file)
		return refuse(program, -ENOMEM, strerror(ENOMEM), err);
	for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
		_cleanup_free_ char *next = NULL;
		int result = look_at(file, &next, &script, err);

		if (result)
			return result;
		if (!script) {
			*elf = cleanup_take(file);
			*path = cleanup_take(next);
			return 0;
		}
		free(file);
		file = cleanup_take(next);
	}
	return refuse(program, -ELOOP, "too many scripts run each other", err);
}
