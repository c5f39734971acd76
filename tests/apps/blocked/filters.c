// SPDX-License-Identifier: GPL-2.0-or-later
/* Seccomp filters that do not like executable pages to be mapped at a given address. */
#include "blocked.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))

bool filter_install(const char *mode)
{
	static const struct {
		const char *mode;
		uint32_t verdict;
		uint32_t number;
		unsigned long flags;
	} modes[] = {
		{ "errno", SECCOMP_RET_ERRNO | 1, SYS_mmap, 0 },
		{ "trap", SECCOMP_RET_TRAP, SYS_mmap, 0 },
		{ "kill", SECCOMP_RET_KILL_PROCESS, SYS_mmap, 0 },
		{ "kill-thread", SECCOMP_RET_KILL_THREAD, SYS_mmap, 0 },
		{ "kill-other", SECCOMP_RET_KILL_PROCESS, SYS_personality, 0 },
		/* Nobody ever answers. */
		{ "supervisor", SECCOMP_RET_USER_NOTIF, SYS_mmap,
		  SECCOMP_FILTER_FLAG_NEW_LISTENER },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct sock_filter filter[] = {
			LOAD(nr),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, modes[i].number, 0, 4),
			LOAD(args[3]),
			BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_FIXED),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_FIXED, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, modes[i].verdict),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

		if (strcmp(modes[i].mode, mode) != 0)
			continue;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, modes[i].flags, &program) < 0)
			abort();
		return true;
	}
	return false;
}
