/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the broker share: whom it serves, for what target, and one call to answer. */
#ifndef BROKER_INTERNAL_H
#define BROKER_INTERNAL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/broker.h"
#include "target/process.h"

enum { BROKER_GROUPS = 64 };

/* A sanitizer looks for leaks at the very end, as a debugger does and by files of /proc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BROKER_SANITIZED 1
#else
#define BROKER_SANITIZED 0
#endif
#ifdef __SANITIZE_THREAD__
#define BROKER_REPORT_OPTIONS "TSAN_OPTIONS"
#else
#define BROKER_REPORT_OPTIONS "ASAN_OPTIONS"
#endif

struct kept_probes;

struct broker {
	struct broker_config config;
	struct process target;
	struct process served; /* the process without privileges */
	int listener_fd;       /* its calls come from there */
	int memory_fd;	       /* its memory; to be written by a system call if memory_by_call */
	bool memory_by_call;
	int channel_fd;	      /* its end is its end; a byte before it says that all is well */
	bool changes_user;    /* we may open files as another user */
	uid_t reader, nobody; /* who files in the target's root are read as, and other ones */
	gid_t reader_group;
	bool same_root;	      /* the target sees the files that we see */
	uint32_t uprobe_type; /* the kernel's number for perf events that are uprobes; 0: none */
	char *directory;      /* where it was started */
	char **paths;	      /* config.paths, from the root */
	struct kept_probes *kept;
};

/* What a call is answered with: a descriptor, or a value, or an error (negative). */
struct reply {
	int64_t value;
	int error;
	int fd; /* -1: none; closed once it is sent */
	bool close_on_exec;
};

/* The memory of the process that is served. -EFAULT. */
int served_read(const struct broker *broker, uint64_t from, void *to, size_t bytes);
int served_write(const struct broker *broker, uint64_t to, const void *from, size_t bytes);
int served_string(const struct broker *broker, uint64_t from, char *text, size_t size);

/* A copy of one of its descriptors; to be closed. -errno. */
int served_descriptor(const struct broker *broker, int fd);

/* Hand it a copy of one of ours: its number there, or -errno. */
int served_give(const struct broker *broker, const struct seccomp_notif *call, int fd);

/* Is it a thread of the process (as long as that lives)? */
bool broker_has_thread(const struct process *process, pid_t tid);

/*
 * Who the calling thread opens files as. From that on no capability is in effect, until
 * reading_end().
 */
enum reading {
	READING_TARGET, /* what the target could read by itself */
	READING_NOBODY, /* what everybody can */
};

void reading_begin(const struct broker *broker, enum reading as);
void reading_end(const struct broker *broker);

/* An answer to a call. They are in files by what they are about. */
typedef void answerer(const struct broker *broker, const struct seccomp_notif *call,
		      struct reply *reply);

answerer answer_open, answer_status, answer_link, answer_access; /* files.c */
answerer answer_perf_event, answer_bpf;				 /* probes.c */
answerer answer_kill, answer_request;				 /* requests.c */

/* Room for probes that are about to go (requests.c). */
struct kept_probes *kept_probes_create(void);

/*
 * Find what a path of a call leads to, and open it with @flags (with O_PATH, or to read). -errno;
 * -EACCES: it is not for whoever asks.
 */
int path_open(const struct broker *broker, int directory, const char *path, int flags,
	      uint64_t resolve);

/* The filter (filter.c): from here on. Its listener, or -errno. */
int filter_install(void);

/* Serve until the process that is served has ended (serve.c). */
void broker_serve(struct broker *broker) __attribute__((noreturn));

#endif
