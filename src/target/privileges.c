// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* What is kept, where we have it. */
static const struct {
	unsigned int capability;
	unsigned int wanted; /* by runs that want that; 0: by all */
	const char *name;
	const char *lost; /* NULL: without it nothing is probed, and that is said elsewhere */
} needed[] = {
	/* Stands for BPF, PERFMON and CHECKPOINT_RESTORE; Linux 6.17 takes it for uprobes. */
	{ .capability = CAP_SYS_ADMIN },
	{ .capability = CAP_BPF },
	{ .capability = CAP_PERFMON },
	/* Memory and files of other processes: the one to look at all, the other as their owner. */
	{ .capability = CAP_SYS_PTRACE },
	{ CAP_DAC_READ_SEARCH, 0, "CAP_DAC_READ_SEARCH",
	  "the target is read with all privileges that there are" },
	/* /proc/PID/map_files */
	{ CAP_CHECKPOINT_RESTORE, 0, "CAP_CHECKPOINT_RESTORE",
	  "files that were deleted or replaced since they were loaded are not found" },
	{ CAP_SYS_NICE, 0, "CAP_SYS_NICE",
	  "new code may run before its probe is there while the CPUs are busy" },
	{ CAP_IPC_LOCK, 0, "CAP_IPC_LOCK",
	  "new code may run before its probe is there while memory is short" },
	/* Directories of others, and a new file with the owner and the rights of the old one. */
	{ CAP_DAC_OVERRIDE, PRIVILEGES_WRITE, NULL, NULL },
	{ CAP_CHOWN, PRIVILEGES_WRITE, NULL, NULL },
	{ CAP_FOWNER, PRIVILEGES_WRITE, NULL, NULL },
	{ CAP_KILL, PRIVILEGES_SIGNAL, NULL, NULL },
	/* To become another user, and to open files as one. */
	{ CAP_SETUID, PRIVILEGES_SPLIT, NULL, NULL },
	{ CAP_SETGID, PRIVILEGES_SPLIT, NULL, NULL },
};

enum {
	NEEDED_COUNT = sizeof(needed) / sizeof(needed[0]),
	PRIORITY_MOST = 50, /* of the follower */
};

static bool were_root;

bool privileges_of_root(void)
{
	return were_root || geteuid() == 0;
}

bool privileges_have(unsigned int capability)
{
	return capng_have_capability(CAPNG_EFFECTIVE, capability);
}

/* What else takes a capability, which will be given up. */
static void raise_limits(void)
{
	const struct rlimit priority = { PRIORITY_MOST, PRIORITY_MOST };
	const struct rlimit memory = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_RTPRIO, &priority);
	setrlimit(RLIMIT_MEMLOCK, &memory);
}

void privileges_reduce(unsigned int wanted)
{
	capng_type_t types = CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET;
	bool kept[NEEDED_COUNT];

	were_root = geteuid() == 0;
	if (capng_get_caps_process() != 0)
		return;
	if (wanted & PRIVILEGES_SPLIT)
		raise_limits();
	/* Nobody else changes the user. A program that root executes has them by itself. */
	if (geteuid()) {
		wanted &= ~(unsigned int)PRIVILEGES_SPLIT;
		types |= CAPNG_INHERITABLE | CAPNG_AMBIENT;
	}
	for (size_t i = 0; i < NEEDED_COUNT; i++)
		kept[i] = privileges_have(needed[i].capability) &&
			  (!needed[i].wanted || needed[i].wanted & wanted);
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < NEEDED_COUNT; i++) {
		if (kept[i])
			capng_update(CAPNG_ADD, types, needed[i].capability);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* The bounding set first, which takes CAP_SETPCAP. */
	(void)capng_apply(CAPNG_SELECT_BOUNDS);
	(void)capng_apply(CAPNG_SELECT_CAPS);
	if (geteuid())
		(void)capng_apply(CAPNG_SELECT_AMBIENT);
}

/* Whoever may not raise limits has them by capability. */
static uint32_t still_needed(void)
{
	struct rlimit priority, memory;
	uint32_t kept = 0;

	if (getrlimit(RLIMIT_RTPRIO, &priority) != 0 || priority.rlim_cur < PRIORITY_MOST)
		kept |= 1U << CAP_SYS_NICE;
	if (getrlimit(RLIMIT_MEMLOCK, &memory) != 0 || memory.rlim_cur != RLIM_INFINITY)
		kept |= 1U << CAP_IPC_LOCK;
	return kept;
}

int privileges_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t kept = still_needed();

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	/* What we remember of them is what the broker has. */
	data[0] = (struct __user_cap_data_struct){ .effective = data[0].permitted & kept,
						   .permitted = data[0].permitted & kept };
	data[1] = (struct __user_cap_data_struct){ 0 };
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

bool privileges_lacking(struct text *words)
{
	bool any = false;

	for (size_t i = 0; i < NEEDED_COUNT; i++) {
		const unsigned int capability = needed[i].capability;

		if (!needed[i].lost || privileges_have(capability) ||
		    (capability == CAP_CHECKPOINT_RESTORE && privileges_have(CAP_SYS_ADMIN)))
			continue;
		text_printf(words, "%swithout %s %s", any ? "; " : "", needed[i].name,
			    needed[i].lost);
		any = true;
	}
	return any;
}
