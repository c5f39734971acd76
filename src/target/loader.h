/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which dynamic loader the kernel will start a program with: the file that is mapped into the
 * process before any code of its own has run, and that maps the rest.
 */
#ifndef TARGET_LOADER_H
#define TARGET_LOADER_H

struct error;

/*
 * What will run, in @elf: the file @program or, if that is a script, the interpreter in its first
 * line, which may be a script again; and the loader of that. Strings that the caller frees; the
 * latter is NULL with 0 if what will run is statically linked and has no loader. -ENOEXEC if it is
 * neither ELF file nor script (binfmt_misc may know it all the same), -ELOOP for scripts of scripts
 * that the kernel refuses too, -ENOTSUP for programs of another architecture. What the program may
 * itself execute then (`env`, a wrapper script) can have another loader.
 */
int loader_find(const char *program, char **elf, char **path, struct error *err);

#endif
