/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a runtime has to know of its code in a target, whatever runtime it is: .NET, native code, a
 * language to come. The session asks all that are registered (session/resolve.c), and puts what
 * they say into plan, names and records.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "bpf/async.h"
#include "bpf/event.h"
#include "bpf/unwind.h"
#include "method/body.h"

struct error;
struct frame_namer;
struct pattern;
struct process;
struct runtime;
struct runtime_follow_ops;
struct runtimes;
struct sealed_pages;
struct target;
struct target_file;
struct text;
struct unwind_rows;
struct value_signature;
struct value_type;
struct value_types;

/* What is asked for. */
struct body_query {
	struct pattern *pattern;
	bool nested; /* with the lambdas and local functions of what matches */
	bool timed;  /* with where calls end */
	/* By number of a file, of so many: its native functions are known. NULL: none are. */
	const bool *known;
	size_t known_count;
};

/*
 * What is asked for of an ELF file that comes, whatever else is known of the target. Bodies are in
 * file 0: the asker gives it a number when it keeps it.
 */
struct file_query {
	const char *name; /* what is found borrows it */
	const char *path; /* as the target sees it */
	uint64_t place;	  /* target_file_place() */
	struct span bytes;
	struct process *process;
	struct pattern **patterns; /* NULL: not that one */
	size_t count;
	bool *matched; /* by pattern: is set to true */
	bool timed;
};

/* Whether a method has a name that is asked for. */
struct name_query {
	struct pattern **patterns;
	size_t count;
	bool nested;
};

/* What there may be to log of a runtime. */
enum runtime_topic {
	RUNTIME_LOG_UNREADABLE, /* what of its code is not found */
	RUNTIME_LOG_SUMMARY,	/* one line: which runtime it is, and how much of it */
	RUNTIME_LOG_MAPS,	/* of each map file */
	RUNTIME_LOG_NAMES,	/* once names have been looked for: what was no source of them */
	RUNTIME_LOG_INLINERS,	/* what read_inliners() could not read */
	RUNTIME_LOG_LINES,	/* once frames are named: where lines were looked for in vain */
};

struct runtime_log {
	void (*line)(void *ctx, const char *line); /* without a newline */
	void *ctx;
	bool verbose;
};

/* A place in file number @file of the target's, to be probed with @cookie. */
typedef void (*code_place_fn)(void *ctx, size_t file, struct file_offset offset, uint64_t cookie);

/* A name that may be written; 0 to go on. */
typedef int (*runtime_name_fn)(void *ctx, const char *name);

/*
 * Where a runtime has code in the target, and what leaves the frames of it: unwind/ makes the
 * tables of the BPF unwinder of them. What follows .unwinder is of UNWINDER_ROWS only.
 */
struct code_range {
	uint64_t begin;
	uint64_t end;
	enum unwinder unwinder;

	/* These two say which image has the rows: in one runtime the same mean the same rows. */
	size_t file;   /* the target's number of it, or BODY_NO_FILE */
	uint64_t part; /* tells the images of one file apart, and those of none */
	uint64_t base; /* the address that rows are relative to */
	/* Add the image's rows to @rows, which is empty. Called once for each image. -ENOMEM. */
	int (*make_rows)(const void *ctx, struct unwind_rows *rows);
	const void *ctx; /* for as long as the range is told */
};

/* -ENOMEM ends the telling. */
typedef int (*code_range_fn)(const struct code_range *range, void *ctx);

/* Canonical names of the precompiled methods that have inlined another. */
struct method_inliners {
	char *method; /* that one's; NULL: nothing is known */
	char **names; /* of as many as were asked for, then NULL; NULL: nothing is known */
	size_t count; /* of all */
	bool whole;   /* there are no others */
};

void method_inliners_deinit(struct method_inliners *inliners);

/* How much of its code is known. */
struct runtime_reach {
	size_t images;	   /* files with methods */
	bool compiled;	   /* what it compiles can be found */
	size_t unreadable; /* parts of that which could not be read, since they were changed */
	size_t problems;   /* images that could not be read in full */
};

/*
 * All are for the one thread that names things. Each but create, destroy and frame_namer may be
 * NULL: the runtime does not offer that, and the functions below know what that means.
 */
struct runtime_ops {
	enum runtime_id id;

	/*
	 * One for a target that has not been looked at yet, among @others; both must outlive it.
	 * -ENOMEM with @err set.
	 */
	int (*create)(struct runtime **runtime, struct target *target,
		      const struct runtimes *others, struct error *err);
	void (*destroy)(struct runtime *runtime);

	/* target_look() has been made: look for it there, once. -errno with @err set. */
	int (*read)(struct runtime *runtime, struct error *err);

	/* Is the target run by it? Else only what it has mapped may be looked for. */
	bool (*is_present)(const struct runtime *runtime);

	/* Is it there by now? target_look() has been made since it was looked for. */
	bool (*has_come)(const struct runtime *runtime);

	struct runtime_reach (*reach)(const struct runtime *runtime);

	/* Pass all that is to be logged of @topic. */
	void (*log)(const struct runtime *runtime, enum runtime_topic topic,
		    const struct runtime_log *log);

	/*
	 * Use map file @path, or those of that directory, as a source of names. What is wrong with
	 * one row or file is logged; the rest is used. -errno with @err set if none can be read.
	 */
	int (*use_maps)(struct runtime *runtime, const char *path, const struct runtime_log *log,
			struct error *err);

	/*
	 * target_look() has been made, and something was @mapped since the last time. 1 if code has
	 * come or gone that mappings do not show, 0, or -errno with @err set.
	 */
	int (*refresh)(struct runtime *runtime, bool mapped, struct error *err);

	/* A new snapshot of what it has compiled. -errno with @err set, and the last one holds. */
	int (*reread)(struct runtime *runtime, struct error *err);

	/* By names: may @pattern mean code in one of its images? Is @file the host of one? */
	bool (*has_image)(const struct runtime *runtime, const struct pattern *pattern);
	bool (*is_host)(const struct runtime *runtime, const struct target_file *file);

	/* Is there a file that @pattern may mean native functions of? */
	bool (*has_file)(const struct runtime *runtime, const struct pattern *pattern);

	/* Call @fn for each body that matches. -ENOMEM or -E2BIG (runaway regex) with @err set. */
	int (*find)(struct runtime *runtime, const struct body_query *query, body_fn fn, void *ctx,
		    struct error *err);

	/*
	 * The same for the follower's thread, which has no runtime to ask. Their addresses are not
	 * known yet. -ENOMEM.
	 */
	int (*find_in_file)(const struct file_query *query, body_fn fn, void *ctx);

	/* NULL: its code does not move. */
	const struct runtime_follow_ops *follow;

	/* As dotnet_names(). */
	int (*names)(const struct runtime *runtime, const char *word, runtime_name_fn fn,
		     void *ctx);

	/* As dotnet_near_misses(). */
	size_t (*near_misses)(const struct runtime *runtime, const struct pattern *pattern,
			      char **names, size_t max);

	/*
	 * Code may be thrown away, and other code take its place. From recheck_begin() on these
	 * look at the target's memory as it is now: is the body at @start still there, and of the
	 * method that was called @method?
	 */
	int (*recheck_begin)(struct runtime *runtime, struct error *err);
	bool (*is_unchanged)(struct runtime *runtime, struct address start, const char *method,
			     bool stub);

	/*
	 * The method with that handle: does its name, put into @spelled, match? -1: it has none. It
	 * is @instantiation, as struct method_id has it.
	 */
	int (*read_name)(struct runtime *runtime, uint64_t handle, const struct name_query *query,
			 struct text *spelled, uint64_t *instantiation);
	bool (*has_method)(struct runtime *runtime, uint64_t handle);

	/* Find out what inliners() is to know. -ENOMEM with @err set. */
	int (*read_inliners)(struct runtime *runtime, struct error *err);

	/*
	 * What is known beside its bodies. As runtimes_inliners() and runtimes_native_function()
	 * have them; is there a native function of that name in @file?
	 */
	int (*inliners)(struct runtime *runtime, struct method_inliners *inliners,
			const struct method_id *id, size_t named);
	bool (*native_function)(struct runtime *runtime, const struct method_id *id,
				struct text *out);
	bool (*has_function)(struct runtime *runtime, const struct target_file *file,
			     const char *name);

	/*
	 * What calls of a method are given and give back, and where: as runtimes_signature(),
	 * runtimes_object_type(), runtimes_base_type() and runtimes_context_name() have them.
	 */
	int (*signature)(struct runtime *runtime, const struct method_id *id, uint64_t method_desc,
			 const char *name, struct value_types *types,
			 struct value_signature *signature);
	const struct value_type *(*object_type)(struct runtime *runtime, uint64_t handle,
						struct value_types *types);
	bool (*base_type)(struct runtime *runtime, uint64_t handle, uint64_t *base);
	bool (*context_name)(struct runtime *runtime, uint64_t handle, bool is_method,
			     struct text *out);

	/*
	 * Call @fn for each range of its code, as target_look() and refresh have found it. Where a
	 * runtime that is asked earlier has code too, that one's range holds. -ENOMEM.
	 */
	int (*ranges)(struct runtime *runtime, code_range_fn fn, void *ctx);

	/*
	 * What leaves the frames of code in no range, which the runtime may have compiled since;
	 * UNWINDER_FRAME_POINTER: it compiles none. Its part of @layouts is what its unwinder
	 * needs.
	 */
	enum unwinder (*elsewhere)(const struct runtime *runtime, struct unwind_layouts *layouts);

	/*
	 * Call @fn for each place in the target's code where objects that frames are named by begin
	 * or end to be moved (enum v8_move). None: there is nothing that can move, or that is not
	 * known.
	 */
	void (*moves)(const struct runtime *runtime, code_place_fn fn, void *ctx);

	/*
	 * Add the pages of what it has compiled that the target never writes again, if no thread of
	 * it is just now in the middle of writing: see process_settle(). -ENOMEM with @err set.
	 */
	int (*read_sealed)(struct runtime *runtime, struct sealed_pages *pages, struct error *err);

	/* How often that has happened: what frame namers compare events with. May be NULL. */
	void (*watch_moves)(struct runtime *runtime, const struct moves_now *moves);

	/*
	 * Call @fn for the place that is told each frame which an exception comes by, with a cookie
	 * as bpf/thrown.h has it. NULL: there is one; else why there is none, in a few words.
	 */
	const char *(*throws)(const struct runtime *runtime, code_place_fn fn, void *ctx);

	/*
	 * Likewise for the function whose second argument is 0 when a collection is over, while all
	 * threads that run managed code stand still.
	 */
	const char *(*collects)(const struct runtime *runtime, code_place_fn fn, void *ctx);

	/*
	 * The way from a Task that has faulted to the exception: in each object where the reference
	 * to the next one is. False: it is not known.
	 */
	bool (*fault_path)(const struct runtime *runtime, uint64_t at[ASYNC_HOPS]);

	/* The file that has the engine of it, of one whose functions are no methods to probe. */
	const char *(*host)(const struct runtime *runtime);

	/* The name of map file number @map, by which bodies can be known; NULL: it has no such. */
	const char *(*map_name)(const struct runtime *runtime, size_t map);

	/* Fill @namer, which is destroyed before the runtime. -ENOMEM with @err set. */
	int (*frame_namer)(struct runtime *runtime, struct frame_namer *namer, struct error *err);
};

/* The beginning of what a runtime has; see runtimes_create(). */
struct runtime {
	const struct runtime_ops *ops;
};

enum { RUNTIMES_MAX = 4 };

/* Which source lines frame namers look for. */
enum source_lines {
	LINES_AS_COMPILED,
	LINES_BY_SOURCE_MAPS, /* of JavaScript what its scripts were made of */
	LINES_NONE,	      /* and what is only there to tell lines is not read */
};

/* Directories that the user has named, for debug files that are not where the target has them. */
struct symbol_directories {
	const char *const *paths;
	size_t count;
};

/* Those that may be in one target. */
struct runtimes {
	struct runtime *list[RUNTIMES_MAX];
	size_t count;
	/* Set before the first frame is named. */
	enum source_lines lines;
	struct symbol_directories symbols; /* borrowed */
};

/*
 * One of each of @offered, which NULL ends, to be destroyed in any case. They are asked in that
 * order, and what the first of them says of some code holds. -ENOMEM with @err set.
 */
int runtimes_create(struct runtimes *runtimes, const struct runtime_ops *const offered[],
		    struct target *target, struct error *err);
void runtimes_destroy(struct runtimes *runtimes);

/* Have all look for themselves, until one fails: what it returns. */
int runtimes_read(const struct runtimes *runtimes, struct error *err);

/* Does one of them run the target? */
bool runtimes_are_present(const struct runtimes *runtimes);

/* NULL: it is not among them. */
struct runtime *runtimes_get(const struct runtimes *runtimes, enum runtime_id id);

/* One whose code moves: the one that runs the target, else the first; or NULL. */
const struct runtime *runtimes_followed(const struct runtimes *runtimes);

/* Of all of them. */
struct runtime_reach runtimes_reach(const struct runtimes *runtimes);
void runtimes_log(const struct runtimes *runtimes, enum runtime_topic topic,
		  const struct runtime_log *log);
int runtimes_use_maps(const struct runtimes *runtimes, const char *path,
		      const struct runtime_log *log, struct error *err);
int runtimes_read_inliners(const struct runtimes *runtimes, struct error *err);

/* Ask all of them: the sum, the first that is not 0, or whether one of them says so. */
int runtimes_refresh(const struct runtimes *runtimes, bool mapped, struct error *err);
bool runtimes_have_come(const struct runtimes *runtimes);
bool runtimes_have_host(const struct runtimes *runtimes, const struct target_file *file);
int runtimes_reread(const struct runtimes *runtimes, struct error *err);
bool runtimes_have_image(const struct runtimes *runtimes, const struct pattern *pattern);
bool runtimes_have_file(const struct runtimes *runtimes, const struct pattern *pattern);
int runtimes_find(const struct runtimes *runtimes, const struct body_query *query, body_fn fn,
		  void *ctx, struct error *err);
int runtimes_names(const struct runtimes *runtimes, const char *word, runtime_name_fn fn,
		   void *ctx);
size_t runtimes_near_misses(const struct runtimes *runtimes, const struct pattern *pattern,
			    char **names, size_t max);
void runtimes_moves(const struct runtimes *runtimes, code_place_fn fn, void *ctx);
/* Of the first that has one; NULL: none does. */
const char *runtimes_host(const struct runtimes *runtimes);
void runtimes_watch_moves(const struct runtimes *runtimes, const struct moves_now *moves);

/* Of runtime @id: see throws, collects and fault_path above. */
const char *runtimes_throws(const struct runtimes *runtimes, enum runtime_id id, code_place_fn fn,
			    void *ctx);
const char *runtimes_collects(const struct runtimes *runtimes, enum runtime_id id, code_place_fn fn,
			      void *ctx);
bool runtimes_fault_path(const struct runtimes *runtimes, enum runtime_id id,
			 uint64_t at[ASYNC_HOPS]);

/* Until one fails, as runtimes_read(). */
int runtimes_recheck_begin(const struct runtimes *runtimes, struct error *err);

/* Of all; as read_sealed(), @pages being empty. To be deinitialised in any case. */
int runtimes_read_sealed(const struct runtimes *runtimes, struct sealed_pages *pages,
			 struct error *err);

/* What no runtime can look at again is taken for unchanged. */
bool runtimes_is_unchanged(const struct runtimes *runtimes, const struct method_id *id,
			   struct address start, const char *method, bool stub);

/* "?" if none has it. */
const char *runtimes_map_name(const struct runtimes *runtimes, size_t map);

/* Does one of them know such a function of @file? */
bool runtimes_have_function(const struct runtimes *runtimes, const struct target_file *file,
			    const char *name);

/*
 * Which precompiled methods have inlined method @id: a call from them does not pass by its body.
 * @named of them have names at most. In any case method_inliners_deinit() frees them. -ENOMEM.
 */
int runtimes_inliners(const struct runtimes *runtimes, struct method_inliners *inliners,
		      const struct method_id *id, size_t named);

/*
 * Append "libc.so.6!write", as a pattern has it: what method @id calls. All its calls pass by that,
 * whoever makes them. False if it is no P/Invoke, or nothing is known of its function.
 */
bool runtimes_native_function(const struct runtimes *runtimes, const struct method_id *id,
			      struct text *out);

/*
 * What calls of method @id are given and give back, of the instantiation that @name says, which is
 * its canonical one (NULL: that @method_desc is, which may be 0), as the target's memory has it
 * now; made in @types. What cannot be told says why, in signature->why or in a type. -ENOMEM.
 */
int runtimes_signature(const struct runtimes *runtimes, const struct method_id *id,
		       uint64_t method_desc, const char *name, struct value_types *types,
		       struct value_signature *signature);

/* The type of objects that begin with @handle, asked of runtime @id; NULL: it is not known. */
const struct value_type *runtimes_object_type(const struct runtimes *runtimes, enum runtime_id id,
					      uint64_t handle, struct value_types *types);

/* What type @handle derives from; 0: nothing. False: it is not known. */
bool runtimes_base_type(const struct runtimes *runtimes, enum runtime_id id, uint64_t handle,
			uint64_t *base);

/*
 * Append the canonical name of what @handle, which shared code was passed, is of: a method, or else
 * a type. False if that is not known.
 */
bool runtimes_context_name(const struct runtimes *runtimes, enum runtime_id id, uint64_t handle,
			   bool is_method, struct text *out);

/* Nor is a method gone that no runtime can look for. */
bool runtimes_have_method(const struct runtimes *runtimes, const struct method_id *id,
			  uint64_t handle);

#endif
