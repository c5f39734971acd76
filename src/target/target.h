/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one view of the target: the process, what it has mapped, and the files behind that, each
 * opened once and with one number from first sight to the end. The runtimes find their code in it.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "target/files.h"
#include "target/process.h"

struct error;

/* For the one thread that names things, but for what is said to be otherwise. */
struct target {
	struct process process;
	struct maps first; /* as it was looked at first; stays, and any thread may read it */
	struct maps last;  /* as it was looked at last; none: that was the first time */
	uint64_t version;  /* goes up when code has come or gone */
	struct target_files files;
	struct memory *memory; /* NULL: see target_open_memory() */
	struct mapping *gone;  /* code that is mapped no longer, the last to go last */
	size_t gone_count;
	size_t gone_capacity;
	/* Where debug files come from that are not here, borrowed; NULL: nowhere. */
	struct debuginfod *debuginfod;
};

/* One that holds no process yet; target_deinit() may be called. */
#define TARGET_NONE ((struct target){ .process = PROCESS_NONE })

/*
 * Make ready to look at another process: with no more privileges than that takes, but for @wanted
 * (privileges.h), and with the memory and the descriptors that it takes. Once, before
 * target_init().
 */
void target_prepare(unsigned int wanted);

/* Hold process @pid. -errno with @err set, as process_init(). */
int target_init(struct target *target, pid_t pid, struct error *err);
void target_deinit(struct target *target);

/* Be able to read its memory. -errno with @err set; no error if it was opened before. */
int target_open_memory(struct target *target, struct error *err);

/*
 * What was opened is the memory of one program: once another has been executed it has nothing. So
 * for whoever begins anew, when nobody uses it.
 */
void target_close_memory(struct target *target);

/*
 * Look at what it has mapped by now, and open files that are new. All that was there stays as it
 * is, and open, whatever the target does with it. 1 if code has come or gone, 0, or -errno with
 * @err set: so when the target has exited (-ESRCH), and then what was known still holds.
 */
int target_look(struct target *target, struct error *err);

/* The mappings as they were when they were looked at last. */
const struct maps *target_maps(const struct target *target);

/* The mapping of @address in the last snapshot; else code that was mapped before. Or NULL. */
const struct mapping *target_find_mapping(const struct target *target, struct address address);

/* The file that @row maps; NULL if it is not open. */
static inline const struct target_file *target_find_file(const struct target *target,
							 const struct mapping *row)
{
	return target_files_find(&target->files, row);
}

/* The file of a number; NULL: it is not open. */
static inline const struct target_file *target_file(const struct target *target, size_t number)
{
	return target_files_get(&target->files, number);
}

/* Where code of @file is in memory; 0 if it is not mapped executable. */
struct address target_address(const struct target *target, const struct target_file *file,
			      struct file_offset offset);

/* Free the memory that reading the files took; what is looked at again comes back by itself. */
void target_forget_pages(const struct target *target);

#endif
