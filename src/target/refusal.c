// SPDX-License-Identifier: GPL-2.0-or-later
/* Why the kernel may have said no, for all who ask it for something. */
#include "target/refusal.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "target/privileges.h"
#include "target/proc.h"

enum {
	ID_MAP_BYTES = 4096,
	WORDS_BYTES = 256,
};

/* Inode of the initial user namespace: PROC_USER_INIT_INO, include/linux/proc_ns.h. */
static const uint64_t INITIAL_USER_NS_INODE = 0xeffffffd;

/* Ourselves ------------------------------------------------------------------------------- */

static bool in_initial_user_ns(void)
{
	struct stat st;

	/* A kernel without user namespaces has the initial one alone. */
	return stat("/proc/self/ns/user", &st) != 0 || st.st_ino == INITIAL_USER_NS_INODE;
}

/* The first line of a file, printable or not; "" if there is none. */
static void read_line(const char *path, char *line, size_t size)
{
	(void)proc_read(AT_FDCWD, path, line, size);
	line[strcspn(line, "\n")] = '\0';
}

/* Other processes ------------------------------------------------------------------------- */

/* Its namespace cannot be seen, but how it maps user ids can: in ours as we do. */
static bool in_other_user_ns(pid_t pid)
{
	char path[32], ours[ID_MAP_BYTES], theirs[ID_MAP_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	return proc_read(AT_FDCWD, "/proc/self/uid_map", ours, sizeof(ours)) >= 0 &&
	       proc_read(AT_FDCWD, path, theirs, sizeof(theirs)) >= 0 && strcmp(ours, theirs) != 0;
}

/* The security modules that could have refused it, and under which label. */
static void tell_security_modules(char words[WORDS_BYTES])
{
	char modules[WORDS_BYTES / 2], label[WORDS_BYTES / 2];
	size_t used;

	read_line("/sys/kernel/security/lsm", modules, sizeof(modules));
	read_line("/proc/self/attr/current", label, sizeof(label));
	snprintf(words, WORDS_BYTES, "%s%s", modules[0] ? " of " : "", modules);
	used = strlen(words);
	if (label[0])
		snprintf(words + used, WORDS_BYTES - used, " (place-probe runs as '%s')", label);
}

/* ptrace_may_access() in the kernel says which capability counts, and where. @words: room. */
static const char *explain(pid_t pid, char words[2 * WORDS_BYTES])
{
	char modules[WORDS_BYTES] = "";

	if (!privileges_have(CAP_SYS_PTRACE))
		return privileges_of_root() ?
			       ", since place-probe is root without CAP_SYS_PTRACE: start it with that capability" :
			       "; run as root";
	if (!privileges_have(CAP_DAC_READ_SEARCH))
		return ", since place-probe has CAP_SYS_PTRACE without CAP_DAC_READ_SEARCH: start it with both";
	if (!in_initial_user_ns())
		return in_other_user_ns(pid) ?
			       ", since it is in another user namespace, where CAP_SYS_PTRACE of this one does not count: run as root in that one or in the initial one" :
			       ", though place-probe has CAP_SYS_PTRACE in this user namespace: the process is in another one or not dumpable, or a security module forbids it; run as root in the initial one";
	tell_security_modules(modules);
	snprintf(
		words, (size_t)2 * WORDS_BYTES,
		", though place-probe has CAP_SYS_PTRACE: a security module%s or a sandbox forbids it; run place-probe outside of that",
		modules);
	return words;
}

int refusal_of_process(struct error *err, pid_t pid, const char *comm, const char *name, int code)
{
	char words[2 * WORDS_BYTES];

	return error_set(
		err, -EACCES,
		"process %d%s%s%s may not be looked at: the kernel refuses /proc/%d%s%s (%s)%s",
		pid, comm ? " (" : "", comm ? comm : "", comm ? ")" : "", pid, name ? "/" : "",
		name ? name : "", strerror(-code), explain(pid, words));
}

const char *refusal_remedy(void)
{
	if (!privileges_of_root())
		return "run as root, or give it CAP_BPF and CAP_PERFMON";
	if (!in_initial_user_ns())
		return "this is root of a user namespace, run as root outside of it";
	if (!privileges_have(CAP_SYS_ADMIN) &&
	    !(privileges_have(CAP_BPF) && privileges_have(CAP_PERFMON)))
		return "this is root without CAP_BPF and CAP_PERFMON, start it with these capabilities";
	return "root may not either, since a security module, a sandbox or the kernel's lockdown forbids it";
}

int refusal_of_programs(struct error *err, int code)
{
	char line[WORDS_BYTES];

	/* Linux then hides kernel memory from root, users' too: security/lockdown/lockdown.c. */
	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	if (strstr(line, "[confidentiality]"))
		return error_set(
			err, code,
			"the kernel does not load the BPF programs: it is locked down (confidentiality), and lets none read memory; start it with lockdown=integrity");
	if (code == -EPERM)
		return error_set(err, code, "the kernel refuses BPF programs (%s): %s",
				 strerror(-code), refusal_remedy());
	return error_set(
		err, code,
		"the kernel does not load the BPF programs: %s (-v shows why; Linux 6.1 or later is needed)",
		strerror(-code));
}
