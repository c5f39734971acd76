/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code in a shared mapping that has uprobes: from the places of the probes to the rows of mappings
 * that hold them, which are made private before the probes come, watched while they are there, and
 * shared again once they are gone. session/remap.c uses it; inject.h is what it does it by.
 */
#ifndef INJECT_PRIVATE_H
#define INJECT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct inject_outcome;
struct private_code;
struct process;

/* Where a probe will be, as the target's mappings and its file have it. */
struct private_place {
	uint64_t address; /* first: base/sorted.h */
	uint64_t offset;
};

/*
 * Make private what @places are in, all of one file in memory, which then are to have probes. Each
 * must lie in a page that the target never writes again. @process must outlive the result. As
 * injector_make_private(), also -EBUSY with @err set where somebody else has made it private
 * already; then all is as it was.
 */
int private_code_create(struct private_code **code, struct process *process,
			const struct private_place *places, size_t count,
			struct inject_outcome *outcome, struct error *err);

/* Make private what @places are in, too, of the same file. Likewise. */
int private_code_widen(struct private_code *code, const struct private_place *places, size_t count,
		       struct inject_outcome *outcome, struct error *err);

/* By now there are probes at @places, which are to be seen at each check. -ENOMEM with @err set. */
int private_code_watch(struct private_code *code, const struct private_place *places, size_t count,
		       struct error *err);

/* The file, for uprobes: ours to read as long as there is private code. */
int private_code_fd(const struct private_code *code);

/*
 * All probes are there: is each page with a probe what the file has, but for the probes? That is to
 * be asked now and then, as a copy does not show what the target writes. -ESTALE with @err set if
 * one is not: what the target runs there may be wrong, and all must be shared again at once. 0 also
 * where the target has exited.
 */
int private_code_check(const struct private_code *code, struct error *err);

/* Is there nothing to be private any more: has the target exited, or executed another program? */
bool private_code_is_gone(const struct private_code *code);

/*
 * All probes have been removed: share it again, and see that it is. -errno with @err set; if that
 * fails the injector goes on trying. 0 also where the target has exited.
 */
int private_code_share(struct private_code *code, struct error *err);

/* The same without a word, if it has not been done. NULL is fine. */
void private_code_destroy(struct private_code *code);

#endif
