/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images and libraries that the target loads while it runs. A file is looked at when it is about to
 * be mapped, by the target's own descriptor of it: so it is that very file, whatever its path leads
 * to, and uprobes are on its code before the code is there.
 */
#ifndef FOLLOW_LOADS_H
#define FOLLOW_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "image/cursor.h"
#include "probe/uprobes.h"
#include "follow/messages/messages.h"
#include "follow/messages/sites.h"
#include "follow/jit/watch.h"

struct error;
struct maps;

/* Where code of a file is, or is about to be. */
struct code_place {
	uint64_t address;
	uint64_t offset;
	uint64_t length;
};

/* A file that the target has mapped, as far as something of it is probed or may be. */
struct loaded_file {
	dev_t device;
	ino_t inode;
	size_t number;	   /* as sites and images have it */
	int fd;		   /* our own, or -1 */
	int known_fd;	   /* the session's, or -1 */
	struct span bytes; /* there may be none */
	char *name;	   /* of one with native functions, which borrow it; or NULL */
	bool is_bundle;
	struct code_place code; /* once it was mapped */
};

struct loads_config {
	struct file_numbers *numbers;
	struct process *process;
	struct watch *watch;	       /* its managed images may have the name of a program */
	const struct request *natives; /* with all patterns */
	const struct runtime_ops *const *offered;
	struct messages *messages;
	enum uprobe_means means;
	int hit_fd; /* the program for a hit */
	const struct follow_snapshot *snapshot;
	/*
	 * By site, see bpf/latency.h. NULL: calls are not timed, and sites get no probes at their
	 * exits.
	 */
	struct timed_site *timed;
	bool open_ended; /* as struct plan has it */
	const struct probe_cost *costs;
};

struct loads {
	struct loads_config config;
	struct uprobes *uprobes;   /* NULL: there was nothing to probe yet */
	struct loaded_file *files; /* moves as it grows */
	size_t file_count;
	size_t file_capacity;
	bool *planned; /* by number of image: its bodies are probed, or were there before */
	size_t planned_count;
	size_t planned_capacity;
	void *places;	  /* of struct place: code that has a site, <search.h> */
	uint64_t no_room; /* sites that there was none for */

	/* Of native functions. */
	struct pattern **patterns; /* our own: matching changes them */
	struct pattern **meant;	   /* those of a file */
	bool *matched;		   /* by pattern: it has matched any of them */

	/* Sites that were probed since loads_mapped() or loads_missed() began. */
	size_t latest_count;
	uint32_t latest[FOLLOW_SITES_MAX];
};

int loads_create(struct loads **loads, const struct loads_config *config, struct error *err);
void loads_destroy(struct loads *loads);

/* A file is about to be mapped. A negative errno if it cannot be looked at. */
int loads_mapped(struct loads *loads, const struct mapped_event *event);

/*
 * The target was not held and may have closed the file by now: take what it has mapped since. As
 * loads_mapped(), but what is mapped no more is not found.
 */
void loads_missed(struct loads *loads);

/*
 * Probe what is asked for of file @path, which is going to be mapped: of a program that is yet to
 * start.
 */
void loads_take_path(struct loads *loads, const char *path);

/* Take files with code that have come since @config->snapshot was taken. */
void loads_look(struct loads *loads, const struct maps *now);

/* Add what file @fd, called @name, holds: a single-file executable. */
void loads_add_bundle(struct loads *loads, int fd, const char *name);

/* Take the uprobes away; the rest stays until loads_destroy(). */
void loads_detach(struct loads *loads);

/* Is there a pattern that may mean native functions at all? */
bool natives_wanted(const struct loads *loads);

#endif
