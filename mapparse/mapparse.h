/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libmapparse: reads the map files that .NET's compilers and runtime (and node) write, and
 * says which method lies where. Bytes go in, in any chunking; rows come out through a
 * callback. No file is opened, nothing is printed, memory is bounded whatever the input.
 *
 *   struct mapparse_reader *r;
 *   r = mapparse_reader_create(&(struct mapparse_options){ .row = on_row, .user = me });
 *   result = mapparse_reader_read_fd(r, fd);         (or push(), push(), ..., finish())
 *   if (result < 0)
 *           complain(mapparse_reader_error(r));
 *   mapparse_reader_destroy(r);
 *
 * The formats are described in docs/formats.md.
 */
#ifndef MAPPARSE_H
#define MAPPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	MAPPARSE_LINE_MAX = 65536, /* what is kept of a line; the rest is dropped and told */
	MAPPARSE_SECTIONS_MAX = 16,
	MAPPARSE_MVID_LENGTH = 36, /* 8b5bc209-7ef4-428f-a28c-60fda6632e1a */
};

/* Some characters of a longer text, not NUL-terminated. Borrowed: see each use. */
struct mapparse_slice {
	const char *start;
	size_t length;
};

/* Names ------------------------------------------------------------------------------------ */

enum mapparse_spelling {
	MAPPARSE_SPELLING_ANY,	   /* parse: whatever it is; render: the canonical one */
	MAPPARSE_SPELLING_IL,	   /* instance void [app] A.B`1[System.Int32]::C(class D.E) */
	MAPPARSE_SPELLING_CLR,	   /* System.Int32 A.B+C::D(System.String, System.Int32&) */
	MAPPARSE_SPELLING_CSHARP,  /* int A.B<int>::C<string>(ref int) */
	MAPPARSE_SPELLING_MANGLED, /* app_A_B_1<Int32>__C */
};

enum mapparse_instance {
	MAPPARSE_INSTANCE_UNKNOWN,
	MAPPARSE_STATIC,
	MAPPARSE_INSTANCE,
};

/*
 * The identity of a method, in parts. @canonical is
 *
 *   Namespace.Type+Nested`1[System.Int32]::Method[System.String](int32,!0)
 *
 * and, where parameters are not known, ends before the "(". The slices lie in @chars and
 * hold until the name is parsed into again or deinitialised.
 */
struct mapparse_name {
	struct mapparse_slice canonical;
	struct mapparse_slice type;	 /* "Namespace.Type+Nested`1" */
	struct mapparse_slice type_args; /* "System.Int32"; empty if none */
	struct mapparse_slice method;	 /* ".ctor", "System.IDisposable.Dispose" */
	struct mapparse_slice method_args;
	struct mapparse_slice params;	   /* "int32,!0"; walk with mapparse_list_next() */
	struct mapparse_slice return_type; /* spelled as a parameter is */
	struct mapparse_slice assembly;	   /* empty if the spelling does not have it */
	enum mapparse_instance instance;
	bool has_params;
	bool has_return;
	bool ambiguous; /* the best of several readings: mangled, or odd characters */

	char *chars; /* private, with the next */
	size_t chars_capacity;
};

void mapparse_name_deinit(struct mapparse_name *name);

/*
 * Take the spelling in @chars apart. 0, -EINVAL if it is no Type::Method, or -ENOMEM.
 * @name is zeroed before the first use and may be parsed into any number of times.
 */
int mapparse_name_parse(struct mapparse_name *name, enum mapparse_spelling spelling,
			const char *chars, size_t length);

/*
 * The same for a mangled name, in which every character but letters, digits and _ has become
 * an _ : the likeliest reading, ambiguous unless there was nothing to guess. @assembly: whose
 * map it is, or NULL; without it the type's name begins with the assembly's.
 */
int mapparse_name_demangle(struct mapparse_name *name, const char *assembly, const char *chars,
			   size_t length);

/* The spelling as a string to free(), or NULL without memory. */
char *mapparse_name_render(const struct mapparse_name *name, enum mapparse_spelling spelling);

/*
 * What crossgen2 --map calls the method, but for the _0, _1 it adds where names collide, and
 * for the assembly of a generic's arguments, which has to be guessed. @assembly
 * is the simple name of the assembly that defines the type.
 */
char *mapparse_name_mangle(const struct mapparse_name *name, const char *assembly);

/*
 * What a mangled name has in common with that of its definition in metadata: it without the
 * arguments of generics and without the number of an overload. Written to @key, which has
 * room for @length characters; how many it is are returned. Methods whose key (of what
 * mapparse_name_mangle() gives) is a symbol's key are what the symbol can stand for.
 */
size_t mapparse_mangled_key(const char *chars, size_t length, char *key);

/* Are type, arguments, method and (where both have them) parameters the same? */
bool mapparse_name_equal(const struct mapparse_name *a, const struct mapparse_name *b);

/*
 * The canonical spelling of one type, spelled in any language: as a parameter (int32), or
 * @as_argument of a generic (System.Int32). A string to free(); NULL with errno EINVAL if it is no
 * type, or ENOMEM.
 */
char *mapparse_type_render(const char *chars, size_t length, bool as_argument);

/* Cut the next element off a comma-separated list of types; false at its end. */
bool mapparse_list_next(struct mapparse_slice *list, struct mapparse_slice *element);

/* Rows ------------------------------------------------------------------------------------- */

enum mapparse_format {
	MAPPARSE_FORMAT_UNKNOWN,
	MAPPARSE_FORMAT_CROSSGEN,      /* NAME.map of 2018, NAME.ni.{MVID}.map of crossgen 3 to 5 */
	MAPPARSE_FORMAT_CROSSGEN2,     /* --perfmap: NAME.ni.{MVID}.map (v0), NAME.ni.r2rmap (v1) */
	MAPPARSE_FORMAT_CROSSGEN2_MAP, /* --map */
	MAPPARSE_FORMAT_CROSSGEN2_CSV, /* --mapcsv */
	MAPPARSE_FORMAT_PERF_MAP,      /* perf-PID.map */
	MAPPARSE_FORMAT_PERFINFO,      /* perfinfo-PID.map */
};

enum mapparse_kind {
	MAPPARSE_KIND_METHOD,  /* a .NET method's body */
	MAPPARSE_KIND_STUB,    /* code of the .NET runtime */
	MAPPARSE_KIND_JS,      /* a JavaScript function's body */
	MAPPARSE_KIND_BUILTIN, /* other code of V8 */
	MAPPARSE_KIND_SECTION, /* crossgen2 --map: anything in the image but a method */
	MAPPARSE_KIND_IMAGE,   /* perfinfo: an image, @address is its base */
	MAPPARSE_KIND_OTHER,   /* a perf map's row of some other program */
};

enum mapparse_tier {
	MAPPARSE_TIER_UNKNOWN,
	MAPPARSE_TIER_R2R,
	MAPPARSE_TIER_TIER0,
	MAPPARSE_TIER_MINOPT,
	MAPPARSE_TIER_INSTRUMENTED,
	MAPPARSE_TIER_OPTIMIZED,
	MAPPARSE_TIER_TIER1,
	MAPPARSE_TIER_OSR,
	MAPPARSE_TIER_INTERPRETER,
	MAPPARSE_TIER_BASELINE,
	MAPPARSE_TIER_MAGLEV,
	MAPPARSE_TIER_TURBOFAN,
};

struct mapparse_js {
	struct mapparse_slice function; /* empty: anonymous, or a script's own code */
	struct mapparse_slice script;
	uint32_t line, column; /* 0: not given */
};

/* Everything in a row is borrowed and holds until the callback returns. */
struct mapparse_row {
	enum mapparse_kind kind;
	enum mapparse_tier tier;
	bool is_absolute; /* @address is of a process, not an RVA */
	bool is_cut;	  /* the line was too long: @raw_name lacks its end */
	uint64_t address;
	uint64_t size;
	uint64_t line;
	struct mapparse_slice raw_name;	  /* as in the file, without tier */
	struct mapparse_slice tier_name;  /* "QuickJitted", "*"; empty if none */
	struct mapparse_slice section;	  /* --map, --mapcsv: ".text" */
	struct mapparse_slice node_type;  /* --map, --mapcsv; stubs: what kind of stub */
	struct mapparse_slice mvid;	  /* perfinfo, 36 characters */
	const struct mapparse_name *name; /* methods; NULL if there is no making sense of it */
	struct mapparse_js js;
};

struct mapparse_section {
	char name[16];
	uint32_t rva, end_rva, file_offset, length;
};

/* What the file says of itself and its image. */
struct mapparse_header {
	enum mapparse_format format;
	bool has_signature;
	uint8_t signature[16];	    /* to be found in the image's debug directory, type 21 */
	uint32_t perfmap_version;   /* these four 0 if not given */
	uint32_t os;		    /* 1 Windows, 2 Linux, 3 macOS, 4 FreeBSD, 5 NetBSD, 6 SunOS */
	uint32_t arch;		    /* 1 ARM, 2 ARM64, 3 x64, 4 x86 */
	uint32_t abi;		    /* 1 default, 2 armel */
	char assembly[256];	    /* --map, --mapcsv: from the image's own symbols, sanitised */
	unsigned int section_count; /* --map */
	struct mapparse_section sections[MAPPARSE_SECTIONS_MAX];
};

struct mapparse_diagnostic {
	uint64_t line;
	const char *reason; /* one sentence's end, after "FILE:LINE: " */
	bool row_used;	    /* the row is given nevertheless */
};

struct mapparse_counts {
	uint64_t lines;
	uint64_t rows; /* given to the callback */
	uint64_t bad;  /* diagnostics, told or not */
	uint64_t out_of_order;
};

struct mapparse_options {
	/* Called for each row. Other than 0 ends reading, and is what push() returns. */
	int (*row)(void *user, const struct mapparse_row *row);

	/* Called for the first @diagnostics_max bad rows; all are counted. May be NULL. */
	void (*diagnostic)(void *user, const struct mapparse_diagnostic *diagnostic);
	void *user;
	unsigned int diagnostics_max; /* 0: five */
	bool skip_names;	      /* leave rows' names in one piece: twice as fast */

	/* --map, --mapcsv: whose map it is, if known; else the file's own symbols tell. */
	const char *assembly;
};

struct mapparse_reader;

/* NULL without memory. @options is copied, @options->assembly must live on. */
struct mapparse_reader *mapparse_reader_create(const struct mapparse_options *options);
void mapparse_reader_destroy(struct mapparse_reader *reader);

/*
 * 0, what the callback returned, or a negative errno with mapparse_reader_error() saying why:
 * -EINVAL if this is no map, -ENOTSUP if it is one that cannot be read (UTF-16, a later
 * version), -ENODATA if it is empty. After an error, further bytes are refused.
 */
int mapparse_reader_push(struct mapparse_reader *reader, const void *bytes, size_t length);
int mapparse_reader_finish(struct mapparse_reader *reader);

/* Push everything that can be read from @fd, then finish. */
int mapparse_reader_read_fd(struct mapparse_reader *reader, int fd);

/* Known once bytes enough have been pushed, at the latest when finished. */
const struct mapparse_header *mapparse_reader_header(const struct mapparse_reader *reader);
const struct mapparse_counts *mapparse_reader_counts(const struct mapparse_reader *reader);
const char *mapparse_reader_error(const struct mapparse_reader *reader);

const char *mapparse_format_name(enum mapparse_format format);
const char *mapparse_kind_name(enum mapparse_kind kind);
const char *mapparse_tier_name(enum mapparse_tier tier);

/* File names ------------------------------------------------------------------------------- */

struct mapparse_file_name {
	struct mapparse_slice image; /* "app" of app.ni.{MVID}.map; empty for a process's */
	struct mapparse_slice mvid;  /* 36 characters, or empty */
	pid_t pid;		     /* of perf-PID.map; 0 if it is none */
};

/* @path may have directories. The slices lie in it. */
void mapparse_file_name_parse(struct mapparse_file_name *name, const char *path);

/* Ranges ----------------------------------------------------------------------------------- */

/* Rows of one file that lie in each other. An extra pass, since it keeps every range. */
struct mapparse_ranges;

struct mapparse_ranges *mapparse_ranges_create(void);
void mapparse_ranges_destroy(struct mapparse_ranges *ranges);

/* 0 or -ENOMEM. */
int mapparse_ranges_add(struct mapparse_ranges *ranges, const struct mapparse_row *row);

struct mapparse_ranges_counts {
	uint64_t duplicates; /* start where another row starts */
	uint64_t overlaps;   /* start inside another row */
};

/* Sorts; @found, which may be NULL, hears of each: its line, and the other row's. */
void mapparse_ranges_check(struct mapparse_ranges *ranges, struct mapparse_ranges_counts *counts,
			   void (*found)(void *user, uint64_t line, uint64_t other_line,
					 bool is_duplicate),
			   void *user);

#endif
