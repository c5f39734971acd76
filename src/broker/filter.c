// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The seccomp filter of the process without privileges. Three lists: what it may do by itself, with
 * descriptors and memory that it has; what is done for it by the broker; and all else, which fails
 * with EPERM. For broker.c, once the broker is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "broker/broker_internal.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

enum { FILTER_MAX = 512 };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* With what it has open, and what it opens that has no name. */
static const int files[] = {
	SYS_read,	SYS_pread64,	  SYS_readv,	      SYS_preadv,
	SYS_write,	SYS_pwrite64,	  SYS_writev,	      SYS_pwritev,
	SYS_sendfile,	SYS_lseek,	  SYS_close,	      SYS_close_range,
	SYS_dup,	SYS_dup3,	  SYS_fstat,	      SYS_fstatfs,
	SYS_getdents64, SYS_ftruncate,	  SYS_fallocate,      SYS_fsync,
	SYS_fdatasync,	SYS_fadvise64,	  SYS_pipe2,	      SYS_eventfd2,
	SYS_signalfd4,	SYS_memfd_create, SYS_timerfd_create, SYS_timerfd_settime,
	SYS_pidfd_open,
};

/* In its own memory. */
static const int memory[] = {
	SYS_mmap,     SYS_munmap,     SYS_mprotect,   SYS_mremap, SYS_madvise,
	SYS_brk,      SYS_mincore,    SYS_mlock,      SYS_mlock2, SYS_munlock,
	SYS_mlockall, SYS_munlockall, SYS_membarrier, SYS_msync,
};

/* Waiting, and the time. */
static const int waiting[] = {
	SYS_ppoll,	   SYS_pselect6,     SYS_epoll_create1, SYS_epoll_ctl,
	SYS_epoll_pwait,   SYS_futex,	     SYS_nanosleep,	SYS_clock_nanosleep,
	SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,	SYS_restart_syscall,
	SYS_wait4,	   SYS_waitid,
};

/* Signals and threads. */
static const int threads[] = {
	SYS_rt_sigaction,    SYS_rt_sigprocmask,  SYS_rt_sigpending, SYS_rt_sigreturn,
	SYS_rt_sigtimedwait, SYS_sigaltstack,	  SYS_exit,	     SYS_exit_group,
	SYS_set_robust_list, SYS_get_robust_list, SYS_rseq,	     SYS_set_tid_address,
};

/* What is known of it and of the machine. */
static const int itself[] = {
	SYS_getpid,    SYS_gettid, SYS_getppid,	  SYS_getpgid, SYS_getsid, SYS_getuid,
	SYS_geteuid,   SYS_getgid, SYS_getegid,	  SYS_getcwd,  SYS_uname,  SYS_sysinfo,
	SYS_getrusage, SYS_times,  SYS_getrandom, SYS_getcpu,  SYS_capget, SYS_umask,
};

/* When it runs. */
static const int scheduling[] = {
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_sched_getparam,
	SYS_sched_getscheduler,
	SYS_sched_setscheduler,
	SYS_sched_get_priority_max,
	SYS_sched_get_priority_min,
	SYS_sched_setparam,
	SYS_getpriority,
};

/* Of sockets that were there before: --listen, --debuginfod, the injector's. */
static const int sockets[] = {
	SYS_accept4,  SYS_recvfrom,   SYS_sendto,     SYS_recvmsg,     SYS_sendmsg,
	SYS_shutdown, SYS_setsockopt, SYS_getsockopt, SYS_getsockname, SYS_getpeername,
};

#ifdef SYS_poll /* older ways, which not all machines have */
static const int older[] = {
	SYS_poll, SYS_select,	  SYS_epoll_wait, SYS_dup2,
	SYS_pipe, SYS_arch_prctl, SYS_time,	  SYS_getpgrp,
};
#endif

#if BROKER_SANITIZED
static const int of_sanitizers[] = {
	SYS_clone,
	SYS_ptrace,
	SYS_getdents,
	SYS_getrlimit,
};
#endif

/* With what it has. Nothing is named by its name. */
static const struct {
	const int *calls;
	size_t count;
} allowed[] = {
	{ files, COUNT(files) },
	{ memory, COUNT(memory) },
	{ waiting, COUNT(waiting) },
	{ threads, COUNT(threads) },
	{ itself, COUNT(itself) },
	{ scheduling, COUNT(scheduling) },
	{ sockets, COUNT(sockets) },
#ifdef SYS_poll
	{ older, COUNT(older) },
#endif
#if BROKER_SANITIZED
	{ of_sanitizers, COUNT(of_sanitizers) },
#endif
};

/* By name, or to the kernel: each has an answer in serve.c. */
static const int asked[] = {
	SYS_openat,    SYS_openat2,    SYS_newfstatat,	    SYS_statx,	  SYS_readlinkat,
	SYS_faccessat, SYS_faccessat2, SYS_perf_event_open, SYS_kill,
#ifdef SYS_open
	SYS_open,      SYS_stat,       SYS_lstat,	    SYS_readlink, SYS_access,
#endif
};

/* Those of which one argument decides. */
static const uint32_t ioctls[] = {
	PERF_EVENT_IOC_ENABLE,
	PERF_EVENT_IOC_DISABLE,
	PERF_EVENT_IOC_RESET,
	PERF_EVENT_IOC_SET_BPF,
	PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
	TCGETS,
	TCSETS,
	TCSETSW,
	TCSETSF,
	TCFLSH,
	TIOCGWINSZ,
	TIOCGPGRP,
	FIONREAD,
	FIONBIO,
};

static const uint32_t fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,	F_SETFD,     F_GETFL,
	F_SETFL, F_GETPIPE_SZ,	  F_SETPIPE_SZ, F_GET_SEALS, F_ADD_SEALS,
};

static const uint32_t prctls[] = {
	PR_SET_NAME,	    PR_GET_NAME,       PR_GET_DUMPABLE,
	PR_SET_THP_DISABLE, PR_SET_TIMERSLACK, PR_CAPBSET_READ,
#ifdef PR_SET_VMA
	PR_SET_VMA,
#endif
#if BROKER_SANITIZED
	PR_SET_DUMPABLE,    PR_SET_PTRACER,
#endif
};

/* Of maps and descriptors that it has. What makes something new is the broker's. */
static const uint32_t bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,	BPF_MAP_GET_NEXT_KEY,
	BPF_OBJ_GET_INFO_BY_FD, BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,	BPF_MAP_DELETE_BATCH,
	BPF_ITER_CREATE,
};

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short length;
};

/* Too many instructions would be an error of ours, and the kernel refuses a filter without end. */
static void add(struct filter *filter, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (filter->length < FILTER_MAX)
		filter->code[filter->length++] = (struct sock_filter){ code, yes, no, k };
}

static void load(struct filter *filter, size_t offset)
{
	add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void give(struct filter *filter, uint32_t action)
{
	add(filter, BPF_RET | BPF_K, action, 0, 0);
}

/* If what was loaded is @value: @action. */
static void give_if(struct filter *filter, uint32_t value, uint32_t action)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	give(filter, action);
}

/* The low half is what the kernel looks at, of arguments that are int or unsigned int. */
static size_t argument(int i)
{
	return offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t);
}

/* For call @number: those with one of @values as argument @i; others get @otherwise. */
static void give_by_argument(struct filter *filter, int number, int i, const uint32_t *values,
			     size_t count, uint32_t otherwise)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, (uint8_t)(1 + 2 * count + 1));
	load(filter, argument(i));
	for (size_t k = 0; k < count; k++)
		give_if(filter, values[k], SECCOMP_RET_ALLOW);
	give(filter, otherwise);
}

/* A thread is made, and no process. */
static void add_clone(struct filter *filter, uint32_t refused)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	load(filter, argument(0));
	add(filter, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	give(filter, SECCOMP_RET_ALLOW);
	give(filter, refused);
	/* Its flags are in memory, where no filter can look: libc takes clone() then. */
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	give(filter, SECCOMP_RET_ERRNO | ENOSYS);
}

/* fstat() is this, on some machines; a name along with it is looked at without privileges. */
static void add_status(struct filter *filter)
{
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 4);
	load(filter, argument(3));
	give_if(filter, AT_EMPTY_PATH, SECCOMP_RET_ALLOW);
	give(filter, SECCOMP_RET_USER_NOTIF);
}

/* Only to ourselves. */
static void add_own(struct filter *filter, uint32_t refused)
{
	const uint32_t own = (uint32_t)getpid(), limits_of[] = { 0, own };

	/* Signals, as of abort(), and what the kernel copies (capture/unwind.c). */
	give_by_argument(filter, SYS_tgkill, 0, &own, 1, refused);
	give_by_argument(filter, SYS_process_vm_writev, 0, &own, 1, refused);
	/* Our own limits may be read, and lowered. */
	give_by_argument(filter, SYS_prlimit64, 0, limits_of, COUNT(limits_of), refused);
}

static void build(struct filter *filter)
{
	const uint32_t machine = (uint32_t)arch.elf_machine | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE;
	const uint32_t refused = SECCOMP_RET_ERRNO | EPERM;

	load(filter, offsetof(struct seccomp_data, arch));
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
	give(filter, SECCOMP_RET_KILL_PROCESS);
	load(filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT(allowed); i++) {
		for (size_t k = 0; k < allowed[i].count; k++)
			give_if(filter, (uint32_t)allowed[i].calls[k], SECCOMP_RET_ALLOW);
	}
	add_status(filter);
	for (size_t i = 0; i < COUNT(asked); i++)
		give_if(filter, (uint32_t)asked[i], SECCOMP_RET_USER_NOTIF);
	add_clone(filter, refused);
	add_own(filter, refused);
	give_by_argument(filter, SYS_ioctl, 1, ioctls, COUNT(ioctls), refused);
	give_by_argument(filter, SYS_fcntl, 1, fcntls, COUNT(fcntls), refused);
	give_by_argument(filter, SYS_prctl, 0, prctls, COUNT(prctls), refused);
	give_by_argument(filter, SYS_bpf, 0, bpf_commands, COUNT(bpf_commands),
			 SECCOMP_RET_USER_NOTIF);
	give(filter, refused);
}

int filter_install(void)
{
	struct filter filter = { .length = 0 };
	struct sock_fprog program = { .filter = filter.code };
	const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
				    SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long fd;

	build(&filter);
	program.len = filter.length;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return fd < 0 ? -errno : (int)fd;
}
