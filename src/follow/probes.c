// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches the BPF programs that tell of new code, where libraries.c has found it to come from. */
#include "follow/follow_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "image/cfi.h"
#include "image/elf.h"
#include "code/insn.h"

enum {
	MMAP_CANDIDATES_MAX = 256,
	MMAP_CODE_BYTES = 64, /* of the function, to look for a cheap place */
};

static void detach(struct probes *probes, int which)
{
	uprobes_destroy(probes->of[which]);
	probes->of[which] = NULL;
}

void probes_detach(struct probes *probes)
{
	for (int i = 0; i < PROBES; i++)
		detach(probes, i);
}

static int attach(struct probes *probes, int which, int program_fd, int fd,
		  struct file_offset offset, struct error *err)
{
	struct uprobe_site site = { .file_fd = fd, .offset = offset };
	int result;

	if (probes->of[which])
		return 0;
	result = uprobes_create(&probes->of[which], probes->kernel->means, program_fd,
				probes->process, err);
	if (result)
		return result;
	result = uprobes_attach(probes->of[which], &site, 1, err);
	if (result)
		detach(probes, which);
	return result;
}

int probes_attach_compiler(struct probes *probes, int fd, struct file_offset entry,
			   struct file_offset exit, struct error *err)
{
	/* The end first: what begins is then sure to be seen to its end. */
	int result = attach(probes, PROBES_COMPILE_END, probes->kernel->end_fd, fd, exit, err);

	if (result == 0)
		result = attach(probes, PROBES_COMPILE_BEGIN, probes->kernel->begin_fd, fd, entry,
				err);
	if (result == 0)
		probes->kernel->shared->compiler_watched = 1;
	return result;
}

int probes_attach_loader(struct probes *probes, int fd, struct span bytes, struct error *err)
{
	struct file_offset offset;
	struct elf elf;

	/* The name that glibc and musl have for it. */
	if (!elf_init(&elf, bytes) || !elf_export_offset(&elf, "_dl_debug_state", &offset))
		return error_set(
			err, -ENOTSUP,
			"the dynamic loader has no hook for debuggers: start the program, and give its PID");
	return attach(probes, PROBES_LOADER, probes->kernel->loader_fd, fd, offset, err);
}

/*
 * The function of its own that @elf makes the system call in; false if there is none, or more than
 * one.
 */
static bool find_mmap(const struct elf *elf, struct file_offset *offset)
{
	uint64_t found = 0, judged = 0;
	int candidates = 0;

	for (unsigned int i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		const uint8_t *at = segment->bytes.start, *end = at + segment->bytes.size;

		while (segment->executable && at &&
		       (at = insn_find_number((struct span){ at, (size_t)(end - at) }, SYS_mmap))) {
			uint64_t begin,
				address = segment->address + (uint64_t)(at - segment->bytes.start);
			struct span code = eh_frame_code(elf, address, &begin);

			at++;
			if (!code.start || begin == judged)
				continue;
			if (candidates++ == MMAP_CANDIDATES_MAX)
				return false;
			judged = begin;
			if (!insn_makes_system_call(code, SYS_mmap))
				continue;
			if (found && found != begin)
				return false;
			found = begin;
		}
	}
	return found && elf_code_offset(elf, found, offset);
}

int probes_attach_mmap(struct probes *probes, int which, int fd, struct span bytes,
		       struct error *err)
{
	struct file_offset offset;
	struct elf elf;

	if (!elf_init(&elf, bytes) || (!elf_export_offset(&elf, "mmap", &offset) &&
				       (which != PROBES_LOADER_MMAP || !find_mmap(&elf, &offset))))
		return error_set(
			err, -ENOTSUP,
			which == PROBES_MMAP ?
				"the C library has no mmap(): start the program, and give its PID" :
				"where the dynamic loader maps libraries is not known: start the program, and give its PID");
	offset.value += insn_cheap_start(span_part(bytes, offset.value, MMAP_CODE_BYTES));
	return attach(probes, which, probes->kernel->map_fd, fd, offset, err);
}

int probes_keep(struct probes *probes)
{
	int moved = 0;

	for (int i = 0; i < PROBES; i++) {
		if (probes->of[i] && uprobes_keep(probes->of[i], NULL) != 0)
			moved = 1;
	}
	return moved;
}

unsigned int probes_detach_ms(const struct probes *probes)
{
	unsigned int ms = 0;

	for (int i = 0; i < PROBES; i++)
		ms += uprobes_detach_ms(probes->of[i]);
	return ms;
}
