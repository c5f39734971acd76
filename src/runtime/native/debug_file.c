// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stripped file says of its debug file, and where that is found: for functions.c. */
#include "runtime/native/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "debuginfod/debuginfod.h"
#include "image/elf.h"
#include "image/libelf.h"
#include "target/files.h"
#include "target/process.h"

/* Where distributions put them. */
#define DEBUG_DIRECTORY "/usr/lib/debug"

enum {
	LINK_ALIGN = 4,
	CRC_MAX_BYTES = 1u << 31, /* a file that is larger is not asked for its checksum */
};

/* The name, padded with zeros to 4 bytes, and then the checksum. It leads to no other directory. */
static void read_link(struct debug_link *link, const struct elf *elf)
{
	struct span section;
	struct cursor c;
	const char *name;
	uint64_t address;
	uint32_t crc;

	if (!elf_section(elf, ".gnu_debuglink", &section, &address))
		return;
	c = cursor_over(section);
	name = cursor_string(&c);
	if (!cursor_ok(&c))
		return;
	cursor_skip(&c, -cursor_offset(&c) % LINK_ALIGN);
	crc = cursor_u32(&c);
	if (!cursor_ok(&c) || !*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return;
	link->name = name;
	link->crc = crc;
}

bool debug_link_read(struct debug_link *link, struct span file)
{
	struct elf elf;

	*link = (struct debug_link){ 0 };
	if (!elf_init(&elf, file))
		return false;
	link->build_id = build_id_of(&elf);
	read_link(link, &elf);
	return link->build_id.start || link->name;
}

static bool has_crc(struct span file, uint32_t wanted)
{
	return file.size <= CRC_MAX_BYTES && crc32_z(0, file.start, file.size) == wanted;
}

bool debug_file_matches(const struct debug_link *link, struct span debug, enum debug_match by)
{
	struct span build_id;
	struct elf elf;
	bool same;

	if (!elf_init(&elf, debug))
		return false;
	build_id = build_id_of(&elf);
	same = build_id.start && build_id.size == link->build_id.size &&
	       memcmp(build_id.start, link->build_id.start, build_id.size) == 0;
	if (by == DEBUG_MATCH_BUILD_ID)
		return same;
	return (same || !build_id.start || !link->build_id.start) && has_crc(debug, link->crc);
}

/* Where the first loadable segment is linked to; the debug file may lack what was in it. */
static bool first_address(struct span file, uint64_t *address)
{
	_cleanup_(elf_end_at) Elf *elf = libelf_over(file);
	size_t count;

	if (!elf || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD) {
			*address = header.p_vaddr;
			return true;
		}
	}
	return false;
}

bool debug_file_shift(struct span file, struct span debug, uint64_t *shift)
{
	uint64_t here, there;

	if (!first_address(file, &here) || !first_address(debug, &there))
		return false;
	*shift = here - there;
	return true;
}

/* Finding it ---------------------------------------------------------------------------------- */

struct search {
	int root_fd;
	const char *path;
	struct debug_link link;
};

/* Links of the target's lead where they lead the target, and not into /proc of ours. */
static int open_beneath(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/* Map what @fd is of, if it belongs to the file of @link. */
static bool map_matching(int fd, const struct debug_link *link, enum debug_match by,
			 struct span *bytes)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    target_bytes_map(fd, (size_t)st.st_size, bytes) != 0)
		return false;
	if (debug_file_matches(link, *bytes, by))
		return true;
	target_bytes_unmap(*bytes);
	return false;
}

/* The file at @path, if it is the one that is looked for. */
static bool try(const struct search *search, const struct text *path, enum debug_match by,
		struct span *bytes)
{
	_cleanup_close_ int fd =
		text_ok(path) ? open_beneath(search->root_fd, text_chars(path)) : -1;

	return fd >= 0 && map_matching(fd, &search->link, by, bytes);
}

/* /usr/lib/debug/.build-id/ab/cdef….debug */
static bool try_build_id(const struct search *search, struct span *bytes)
{
	_cleanup_(text_deinit) struct text path = { 0 };
	struct span id = search->link.build_id;

	if (id.size < 2)
		return false;
	text_printf(&path, DEBUG_DIRECTORY "/.build-id/%02x/", id.start[0]);
	for (size_t i = 1; i < id.size; i++)
		text_printf(&path, "%02x", id.start[i]);
	text_add(&path, ".debug");
	return try(search, &path, DEBUG_MATCH_BUILD_ID, bytes);
}

/* The file's own path beneath a directory for such files, as some distributions have it. */
static bool try_own_path(const struct search *search, struct span *bytes)
{
	_cleanup_(text_deinit) struct text path = { 0 };

	text_printf(&path, DEBUG_DIRECTORY "%s.debug", search->path);
	return search->link.build_id.start && try(search, &path, DEBUG_MATCH_BUILD_ID, bytes);
}

/* By the name in .gnu_debuglink, next to the file and in two other places. */
static bool try_link(const struct search *search, struct span *bytes)
{
	static const char *const places[][2] = {
		{ "", "" },
		{ "", "/.debug" },
		{ DEBUG_DIRECTORY, "" },
	};
	const char *slash = strrchr(search->path, '/');
	bool found = false;

	/* No file has a longer name. */
	if (!slash || !search->link.name || strlen(search->link.name) > NAME_MAX)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !found; i++) {
		_cleanup_(text_deinit) struct text path = { 0 };

		text_printf(&path, "%s%.*s%s/%s", places[i][0], (int)(slash - search->path),
			    search->path, places[i][1], search->link.name);
		/* A file may name itself. */
		found = strcmp(text_chars(&path), search->path) != 0 &&
			try(search, &path, DEBUG_MATCH_CRC, bytes);
	}
	return found;
}

/* Beneath the directory @root_fd, which is closed; negative: there is none. */
static bool look_beneath(int root_fd, struct search *search, struct span *bytes)
{
	_cleanup_close_ int fd = root_fd;

	search->root_fd = fd;
	return fd >= 0 && (try_build_id(search, bytes) || try_link(search, bytes) ||
			   try_own_path(search, bytes));
}

bool target_debug_file_open(struct process *process, const char *path, struct span file,
			    struct span *bytes)
{
	struct search search = { .path = path };

	if (path[0] != '/' || !debug_link_read(&search.link, file))
		return false;
	return look_beneath(process_open(process, "root", O_PATH | O_DIRECTORY), &search, bytes) ||
	       look_beneath(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), &search, bytes);
}

int target_debug_file_fetch(struct debuginfod *debuginfod, struct span file, struct span *bytes)
{
	_cleanup_close_ int fd = -ENOENT;
	struct debug_link link;

	if (!debuginfod || !debug_link_read(&link, file) || !link.build_id.start)
		return -ENOENT;
	fd = debuginfod_get(debuginfod, link.build_id.start, link.build_id.size);
	if (fd < 0)
		return fd;
	if (map_matching(fd, &link, DEBUG_MATCH_BUILD_ID, bytes))
		return 0;
	debuginfod_refuse(debuginfod, link.build_id.start, link.build_id.size);
	return -ENOENT;
}
