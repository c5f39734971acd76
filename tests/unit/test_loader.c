// SPDX-License-Identifier: GPL-2.0-or-later
/* Which loader a program has: programs of this machine, and made ones that are not whole. */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "target/launch.h"
#include "target/loader.h"
#include "tests/unit/scratch.h"

enum { SCRIPTS = 8 };

static int loader_of(const char *program, char loader[PATH_MAX], struct error *err)
{
	char *elf, *path = NULL;
	int result = loader_find(program, &elf, &path, err);

	snprintf(loader, PATH_MAX, "%s", path ? path : "");
	assert_true(result == 0 || !path);
	free(elf);
	free(path);
	return result;
}

static void expect_our_loader(const char *loader)
{
	struct stat st;

	assert_int_equal(stat(loader, &st), 0);
	assert_non_null(strstr(loader, "ld-linux-x86-64.so.2"));
}

UNIT_TEST(loader_of_programs_and_scripts)
{
	char loader[PATH_MAX];

	assert_int_equal(loader_of("/bin/true", loader, NULL), 0);
	expect_our_loader(loader);
	scratch_script("script", 0755, "#!/bin/sh\n");
	assert_int_equal(loader_of(scratch_path("script"), loader, NULL), 0);
	expect_our_loader(loader);
	/* The kernel is content with blanks, an argument, and no end of line. */
	scratch_script("script", 0755, "#! \t/bin/sh -e");
	assert_int_equal(loader_of(scratch_path("script"), loader, NULL), 0);
	expect_our_loader(loader);
}

/* What will run is the interpreter in the end. */
UNIT_TEST(program_of_scripts)
{
	char *elf, *loader, line[PATH_MAX + 8];

	assert_int_equal(loader_find("/bin/true", &elf, &loader, NULL), 0);
	assert_string_equal(elf, "/bin/true");
	expect_our_loader(loader);
	free(elf);
	free(loader);
	scratch_script("inner", 0755, "#!/bin/sh\n");
	snprintf(line, sizeof(line), "#! %s -x\n", scratch_path("inner"));
	scratch_script("outer", 0755, line);
	assert_int_equal(loader_find(scratch_path("outer"), &elf, &loader, NULL), 0);
	assert_string_equal(elf, "/bin/sh");
	expect_our_loader(loader);
	free(elf);
	free(loader);
	assert_int_equal(loader_find("/nowhere/at-all", &elf, &loader, NULL), -ENOENT);
	assert_null(elf);
	assert_null(loader);
}

/* What the kernel itself says: 0, or the errno of exec. */
static int exec_of(const char *program)
{
	const char *const command[] = { program, NULL };
	struct launch *launch;
	int result, status;

	assert_int_equal(launch_create(&launch, (char *const *)command, NULL), 0);
	result = launch_release(launch, NULL);
	assert_int_equal(launch_wait(launch, &status), 0);
	launch_destroy(launch);
	return result;
}

/* As many scripts of scripts as the kernel follows, and no more. */
UNIT_TEST(loader_where_exec_works)
{
	char text[PATH_MAX + 8], name[32], loader[PATH_MAX];
	int worked = 0;

	scratch_script("chain0", 0755, "#!/bin/true\n");
	for (int i = 1; i < SCRIPTS; i++) {
		snprintf(name, sizeof(name), "chain%d", i - 1);
		snprintf(text, sizeof(text), "#!%s\n", scratch_path(name));
		snprintf(name, sizeof(name), "chain%d", i);
		scratch_script(name, 0755, text);
	}
	for (int i = 0; i < SCRIPTS; i++) {
		int found, result;

		snprintf(name, sizeof(name), "chain%d", i);
		found = loader_of(scratch_path(name), loader, NULL);
		result = exec_of(scratch_path(name));
		if (found != result)
			fail_msg("%d scripts: exec gave %d, the loader %d", i + 1, result, found);
		worked += result == 0;
	}
	assert_in_range(worked, 4, SCRIPTS - 1);
}

/* An ELF file with one program header and, where @interpreter is, a path behind it. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	char path[16];
};

static struct program synthetic(uint32_t type)
{
	struct program program = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct program, segment),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
		},
		.segment = {
			.p_type = type,
			.p_offset = offsetof(struct program, path),
			.p_filesz = sizeof("/lib/ld"),
		},
		.path = "/lib/ld",
	};

	return program;
}

static int loader_of_bytes(const void *bytes, size_t size, char loader[PATH_MAX], struct error *err)
{
	scratch_file("synthetic", 0755, bytes, size);
	return loader_of(scratch_path("synthetic"), loader, err);
}

UNIT_TEST(loader_of_elf_files)
{
	struct program program = synthetic(PT_INTERP);
	struct error err = { .text = "" };
	char loader[PATH_MAX];

	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), 0);
	assert_string_equal(loader, "/lib/ld");
	program = synthetic(PT_LOAD);
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), 0);
	assert_string_equal(loader, "");

	program = synthetic(PT_INTERP);
	program.header.e_machine = EM_386;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "no x86-64 program"));
}

UNIT_TEST(loader_of_damaged_files)
{
	struct program whole = synthetic(PT_INTERP), program;
	static char line[400] = "#!/";
	char loader[PATH_MAX];

	for (size_t size = 0; size < offsetof(struct program, path) + sizeof("/lib/ld"); size++)
		assert_int_equal(loader_of_bytes(&whole, size, loader, NULL), -ENOEXEC);

	program = whole;
	program.header.e_phoff = UINT64_MAX - 8;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);
	program = whole;
	program.header.e_phnum = UINT16_MAX;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);
	program = whole;
	program.header.e_phentsize = 32;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);
	program = whole;
	program.segment.p_filesz--;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);
	program = whole;
	program.segment.p_filesz = UINT64_MAX;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);
	program = whole;
	program.segment.p_offset = UINT64_MAX - 2;
	assert_int_equal(loader_of_bytes(&program, sizeof(program), loader, NULL), -ENOEXEC);

	/* A name that the kernel's 256 bytes cut off, and none at all. */
	memset(line + 3, 'x', sizeof(line) - 3);
	assert_int_equal(loader_of_bytes(line, sizeof(line), loader, NULL), -ENOEXEC);
	assert_int_equal(loader_of_bytes("#! \n", 4, loader, NULL), -ENOEXEC);
	assert_int_equal(loader_of_bytes("#!/nowhere/x\n", 13, loader, NULL), -ENOENT);
}

UNIT_TEST(loader_of_a_launch)
{
	const char *const command[] = { "true", NULL };
	struct launch *launch;
	char *elf, *path;

	assert_int_equal(launch_create(&launch, (char *const *)command, NULL), 0);
	assert_int_equal(loader_find(launch_program(launch), &elf, &path, NULL), 0);
	expect_our_loader(path);
	free(elf);
	free(path);
	launch_destroy(launch);
}

UNIT_MAIN(scratch_make, scratch_remove)
