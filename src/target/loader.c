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
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/error.h"

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

static int read_header(const char *file, const char line[LINE_MAX_BYTES + 1], size_t length,
		       Elf64_Ehdr *elf, struct error *err)
{
	memcpy(elf, line, sizeof(*elf));
	if (length < EI_NIDENT || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
		return refuse(file, -ENOEXEC, "it is no program, and no script with a #! line",
			      err);
	if (length >= offsetof(Elf64_Ehdr, e_version) &&
	    (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != arch.elf_machine))
		return error_set(
			err, -ENOTSUP,
			"cannot tell the dynamic loader of %s: it is no %s program; start it, and give its PID",
			file, arch.name);
	if (length < offsetof(Elf64_Ehdr, e_shentsize) || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phnum == 0 || elf->e_phnum * sizeof(Elf64_Phdr) > HEADERS_MAX_BYTES)
		return refuse(file, -ENOEXEC, "its ELF header is damaged", err);
	return 0;
}

/* The path in PT_INTERP of the ELF file that begins with @line; NULL if it has none. */
static int read_interpreter(const char *file, int fd, const char line[LINE_MAX_BYTES + 1],
			    size_t length, char **path, struct error *err)
{
	_cleanup_free_ Elf64_Phdr *headers = NULL;
	const Elf64_Phdr *found = NULL;
	char text[PATH_MAX];
	Elf64_Ehdr elf;
	size_t wanted;
	int result = read_header(file, line, length, &elf, err);

	if (result)
		return result;
	wanted = elf.e_phnum * sizeof(*headers);
	headers = malloc(wanted);
	if (!headers)
		return refuse(file, -ENOMEM, strerror(ENOMEM), err);
	if (read_at(fd, headers, wanted, elf.e_phoff) != (ssize_t)wanted)
		return refuse(file, -ENOEXEC, "its program headers are cut off", err);
	/* The first: the kernel looks at no other. */
	for (unsigned int i = 0; i < elf.e_phnum && !found; i++)
		found = headers[i].p_type == PT_INTERP ? &headers[i] : NULL;
	if (!found)
		return 0;
	if (found->p_filesz < 2 || found->p_filesz > sizeof(text) ||
	    read_at(fd, text, found->p_filesz, found->p_offset) != (ssize_t)found->p_filesz ||
	    text[found->p_filesz - 1] != '\0')
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
		return read_interpreter(file, fd, line, (size_t)got, path, err);
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
