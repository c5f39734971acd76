/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which dynamic loader the kernel will start a program with: the file that is mapped into the
 * process before any code of its own has run, and that maps the rest.
 */
#ifndef TARGET_LOADER_H
#define TARGET_LOADER_H

struct error;

/*
 * The loader of the file @program, or, if that is a script, of the interpreter in its first line,
 * which may be a script again. A string that the caller frees; NULL with 0 if what will run is
 * statically linked and has no loader. -ENOEXEC if it is neither ELF file nor script (binfmt_misc
 * may know it all the same), -ELOOP for scripts of scripts that the kernel refuses too, -ENOTSUP
 * for programs of another architecture.
 */
int loader_find(const char *program, char **path, struct error *err);

/* The same, and in @elf, freed by the caller too, what will run: @program or its interpreter. */
int loader_find_both(const char *program, char **elf, char **path, struct error *err);

#endif
