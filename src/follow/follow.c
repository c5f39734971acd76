// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow/follow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/breakpoints.h"
#include "attach/slots.h"
#include "bpf/follow.h"
#include "clock.h"
#include "dotnet/compiler.h"
#include "dotnet/jit.h"
#include "dotnet/runtime.h"
#include "error.h"
#include "follow/bodies.h"
#include "follow/loads.h"
#include "follow/probes.h"
#include "follow/watch.h"
#include "options.h"
#include "resolve.h"
#include "target/files.h"
#include "target/maps.h"
#include "target/process.h"

enum {
	TICK_MS = 20,
	TRY_AGAIN_MS = 500,
	PRIORITY = 50, /* before all that is ordinary: the target waits */
	COPIES_MAX = 16,
	TIMES_MAX = 1 << 14,
	IMAGE_HOLD_FACTOR = 40, /* loading an image is rare, and may be more work */
	START_HOLD_FACTOR = 1000, /* nobody needs a program that is just being started */
	/* Sites that may turn out to be nobody's must leave room for others. */
	SPECULATIVE_SITES_MAX = FOLLOW_SITES_MAX / 2,

	/* CORJIT_FLAGS, dotnet/runtime src/coreclr/inc/corjitflags.h; the same in .NET 8, 9 and 10. */
	JIT_FLAG_OSR = 7,
	JIT_FLAG_INSTRUMENTED = 18,
	JIT_FLAG_OPTIMIZED = 20,
	JIT_FLAG_TIER0 = 26,
	JIT_FLAG_TIER1 = 27,
};

/* An image in memory that is being sent. */
struct image_copy {
	uint64_t hold; /* 0: none */
	struct compile_event event;
	uint8_t *bytes;
	size_t size;
};

struct follow {
	struct follow_config config;
	struct follow_shared *shared;
	struct process process; /* our own hold of it, for this thread */
	struct watch *watch;
	struct slots slots;
	struct bodies *bodies;
	struct loads *loads;
	struct probes *probes;
	struct ring_buffer *ring;
	struct image_copy copies[COPIES_MAX];
	int notes[2]; /* a pipe: from the thread, to who prints */
	pthread_t thread;
	bool started;
	_Atomic bool stopping;
	_Atomic size_t ticks;
	uint64_t try_again_ns; /* to get another debug register */
	bool told_stopped;
	bool told_room;

	struct follow_losses losses;
	uint64_t *times;
	size_t time_count;
};

/* Notes ----------------------------------------------------------------------------------- */

/* Nobody waits for room in the pipe: who does not read misses some talk. */
static void note(struct follow *follow, const struct follow_note *note)
{
	ssize_t written = write(follow->notes[1], note, sizeof(*note));

	(void)written;
}

bool follow_read_note(struct follow *follow, struct follow_note *note)
{
	return read(follow->notes[0], note, sizeof(*note)) == sizeof(*note);
}

int follow_fd(const struct follow *follow)
{
	return follow->notes[0];
}

/* Answers --------------------------------------------------------------------------------- */

/* False if it did not wait so long. */
static bool answer(struct follow *follow, uint64_t hold, enum hold_state state)
{
	__u64 *word = &follow->shared->holds[hold & (FOLLOW_HOLDS - 1)].word;
	__u64 waiting = hold << HOLD_STATE_BITS | HOLD_WAITING;

	return __atomic_compare_exchange_n(word, &waiting, hold << HOLD_STATE_BITS | state, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* The thread goes on. What trouble is it to the new body that it may already have? */
static unsigned int let_go(struct follow *follow, const struct follow_event_head *head)
{
	if (!head->hold)
		return TROUBLE_NOT_HELD;
	return answer(follow, head->hold, HOLD_RELEASED) ? 0 : TROUBLE_TIMED_OUT;
}

/* Compilations ---------------------------------------------------------------------------- */

static enum tier tier_of(uint64_t flags)
{
	if (flags >> JIT_FLAG_OSR & 1)
		return TIER_OSR;
	if (flags >> JIT_FLAG_INSTRUMENTED & 1)
		return TIER_INSTRUMENTED;
	if (flags >> JIT_FLAG_TIER1 & 1)
		return TIER_TIER1;
	if (flags >> JIT_FLAG_TIER0 & 1)
		return TIER_TIER0;
	return flags >> JIT_FLAG_OPTIMIZED & 1 ? TIER_OPTIMIZED : TIER_MINOPT;
}

static bool is_final(enum tier tier)
{
	return tier == TIER_TIER1 || tier == TIER_OPTIMIZED || tier == TIER_MINOPT;
}

/* The site of a new body of @row's method; @row is NULL if only memory says which method it is. */
static struct site *make_site(struct follow *follow, const struct compile_event *event,
			      const struct watch_row *row, bool may_be_freed, uint32_t *number)
{
	enum tier tier = tier_of(event->jit_flags);
	struct site site = {
		.method = row ? row->method : (char *)"?",
		.made_from = row ? row->made_from : NULL,
		.image = row && row->image ? row->image->name : "run-time code",
		.tier = tier,
		.state = tier == TIER_OSR ? STATE_NO_CALLS : STATE_CURRENT,
		.final = is_final(tier),
		.method_desc = event->method_desc,
		.may_be_freed = may_be_freed,
		.sources = 1u << NAME_SOURCE_METADATA,
		.mechanism = tier == TIER_OSR ? MECHANISM_NONE : MECHANISM_BREAKPOINT,
		.reason = tier == TIER_OSR ? REASON_OSR_BODY : REASON_NONE,
		.file = PLAN_NO_FILE,
		.address = { event->code },
		.size = event->size,
	};

	if (row && row->image)
		site.definition = (struct r2r_method){ row->image->metadata, row->rid, 0 };
	return bodies_new_site(follow->bodies, &site, !row || !row->sure, number);
}

static void arm(struct follow *follow, struct body *body, struct follow_note *said)
{
	uint32_t loser;
	int result = bodies_arm(follow->bodies, body, &loser, NULL);

	if (loser != SLOTS_NO_SITE) {
		const struct follow_note lost = { .type = NOTE_LOST_REGISTER, .site = loser };

		bodies_add_trouble(follow->bodies, loser, TROUBLE_NO_REGISTER);
		note(follow, &lost);
	}
	if (result == 0)
		return;
	said->type = result == -ENOSPC ? NOTE_NO_REGISTER : NOTE_REFUSED;
	bodies_add_trouble(follow->bodies, body->site,
			   result == -ENOSPC ? TROUBLE_NO_REGISTER : TROUBLE_REFUSED);
}

static void keep_time(struct follow *follow, uint64_t took_ns)
{
	if (follow->time_count < TIMES_MAX)
		follow->times[follow->time_count] = took_ns;
	follow->time_count++;
}

/* A body that the first look has found, and whose compilation is reported now. */
static bool is_known_already(struct follow *follow, const struct compile_event *event)
{
	struct body *body = bodies_find_known(follow->bodies, (struct address){ event->code });

	if (!body || (body->method && body->method != event->method_desc))
		return false;
	body->known_by_event = true;
	return true;
}

static void follow_body(struct follow *follow, const struct compile_event *event,
			const struct watch_row *row, bool may_be_freed)
{
	struct follow_note said = {
		.type = NOTE_ARMED,
		.held = event->head.hold != 0,
		.compiled_ns = event->head.time_ns - event->begun_ns,
	};
	struct body body = {
		.address = { event->code },
		.size = event->size,
		.method = event->method_desc,
		.rank = row ? row->rank : UINT32_MAX,
		.thread = event->head.tid,
		.may_be_freed = may_be_freed,
		.known_by_event = true,
		.entered_by_calls = tier_of(event->jit_flags) != TIER_OSR,
	};
	struct body *added;
	unsigned int trouble;

	if (event->kind & COMPILE_DYNAMIC)
		bodies_bury(follow->bodies, event->method_desc);
	if (is_known_already(follow, event) || !make_site(follow, event, row, may_be_freed, &body.site)) {
		let_go(follow, &event->head);
		return;
	}
	/* A hit must find the site. */
	bodies_publish(follow->bodies);
	added = bodies_add(follow->bodies, &body);
	if (added && body.entered_by_calls)
		arm(follow, added, &said);
	trouble = let_go(follow, &event->head);
	said.took_ns = clock_now_ns() - event->head.time_ns;
	said.site = body.site;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	if (!body.entered_by_calls) {
		said.type = NOTE_OSR;
	} else {
		bodies_add_trouble(follow->bodies, body.site, trouble);
		if (event->head.hold)
			keep_time(follow, said.took_ns);
	}
	note(follow, &said);
}

/* Let the programs send the image that @event's method is in. False if that cannot be done. */
static bool ask_for_image(struct follow *follow, const struct compile_event *event)
{
	struct image_copy *copy = NULL;

	for (size_t i = 0; i < COPIES_MAX && !copy; i++) {
		if (!follow->copies[i].hold)
			copy = &follow->copies[i];
	}
	if (!copy || !event->head.hold || event->layout_size > FOLLOW_IMAGE_MAX_BYTES)
		return false;
	/* The last piece is sent in full. */
	copy->bytes = calloc(1, (size_t)event->layout_size + FOLLOW_CHUNK_BYTES);
	if (!copy->bytes)
		return false;
	copy->hold = event->head.hold;
	copy->event = *event;
	copy->size = event->layout_size;
	if (answer(follow, event->head.hold, HOLD_COPY))
		return true;
	free(copy->bytes);
	*copy = (struct image_copy){ 0 };
	return false;
}

static struct image_copy *find_copy(struct follow *follow, uint64_t hold)
{
	for (size_t i = 0; hold && i < COPIES_MAX; i++) {
		if (follow->copies[i].hold == hold)
			return &follow->copies[i];
	}
	return NULL;
}

static void on_chunk(struct follow *follow, const struct chunk_event *chunk)
{
	const struct image_copy *copy = find_copy(follow, chunk->for_hold);

	if (copy && chunk->size <= FOLLOW_CHUNK_BYTES && chunk->at <= copy->size)
		memcpy(copy->bytes + chunk->at, chunk->bytes, chunk->size);
}

/* Its module has no image, so what it is called is for others to find out. */
static void speculate(struct follow *follow, const struct compile_event *event)
{
	if (bodies_site_count(follow->bodies) < SPECULATIVE_SITES_MAX &&
	    slots_have_room(&follow->slots)) {
		follow_body(follow, event, NULL, true);
	} else {
		follow->losses.unnamed++;
		let_go(follow, &event->head);
	}
}

/* The module is not known, or what is known of it may be of another by now. */
static void on_unknown_module(struct follow *follow, const struct compile_event *event,
			      const uint8_t *header)
{
	struct image_copy *copy = find_copy(follow, event->head.hold);
	const struct watch_row *row;
	enum watch_answer known;

	if (header) {
		known = watch_learn(follow->watch, event, header);
		if (known == WATCH_UNKNOWN && ask_for_image(follow, event))
			return;
	} else if (copy) {
		known = watch_learn_copy(follow->watch, &copy->event, copy->bytes, copy->size);
		*copy = (struct image_copy){ 0 };
	} else {
		known = WATCH_NO_IMAGE;
	}
	if (known != WATCH_KNOWN) {
		speculate(follow, event);
		return;
	}
	row = watch_find(follow->watch, event);
	if (row)
		follow_body(follow, event, row, watch_may_be_freed(follow->watch, event->module));
	else
		let_go(follow, &event->head);
}

static void on_compiled(struct follow *follow, const struct compile_event *event,
			const uint8_t *detail)
{
	const struct watch_row *row = NULL;

	slots_note_thread(&follow->slots, event->head.tid, event->begun_ns);
	if (event->kind & COMPILE_REUSED)
		bodies_bury_range(follow->bodies, (struct address){ event->code }, event->size);
	if (event->kind & COMPILE_UNKNOWN) {
		on_unknown_module(follow, event, detail);
		return;
	}
	if (event->kind & COMPILE_DYNAMIC)
		row = detail ? watch_find_dynamic(follow->watch, (const char *)detail) : NULL;
	else if (!(event->kind & COMPILE_UNREADABLE))
		row = watch_find(follow->watch, event);
	if (row)
		follow_body(follow, event, row, event->kind & COMPILE_DYNAMIC);
	else
		let_go(follow, &event->head);
}

/* Files and libraries --------------------------------------------------------------------- */

static void on_mapped(struct follow *follow, const struct mapped_event *event)
{
	struct follow_note said = { .type = NOTE_UPROBES, .held = event->head.hold != 0 };
	size_t attached = loads_mapped(follow->loads, event, &said.site);
	unsigned int trouble = let_go(follow, &event->head);

	if (!attached)
		return;
	said.count = (uint32_t)attached;
	said.timed_out = trouble & TROUBLE_TIMED_OUT;
	said.took_ns = clock_now_ns() - event->head.time_ns;
	for (size_t i = 0; i < attached; i++)
		bodies_add_trouble(follow->bodies, said.site + i, trouble);
	note(follow, &said);
}

static bool is_c_library(const char *name)
{
	static const char *const starts[] = { "libc.so", "libc-2", "libc.musl", "ld-musl" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static int attach_mmap(struct follow *follow, const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];

		if (is_c_library(file->name) &&
		    probes_attach_mmap(follow->probes, file->fd, file->bytes, NULL) == 0)
			return 0;
	}
	return -ENOENT;
}

static const struct target_file *find_jit(const struct target_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->files[i].name, "libclrjit.so") == 0)
			return &files->files[i];
	}
	return NULL;
}

static int attach_compiler(struct follow *follow, const struct target_files *files,
			   const struct dotnet_runtime *runtime, struct error *err)
{
	const struct target_file *file = runtime->single_file ? &files->files[runtime->file] :
								find_jit(files);
	const struct resolution *resolution = follow->config.resolution;
	struct jit_compiler compiler;
	int result;

	if (!file)
		return error_set(err, -ENOENT, "the target has not loaded libclrjit.so");
	if (!runtime->single_file)
		result = jit_compiler_find(&compiler, file->bytes, err);
	else if (resolution)
		result = jit_compiler_find_running(&compiler, jit_clr(resolution->jit), file->bytes,
						   runtime->bias, err);
	else
		result = jit_compiler_find_linked(&compiler, file->bytes, err);
	if (result)
		return result;
	return probes_attach_compiler(follow->probes, file->fd, &compiler, err);
}

static bool wants_code(const struct mapping *row)
{
	return mapping_is_file_code(row);
}

/* The runtime among @files; false if it is not there yet. */
static bool find_runtime(const struct target_files *files, struct dotnet_runtime *runtime)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct target_file *file = &files->files[i];

		if (strcmp(file->name, "libcoreclr.so") != 0 && strstr(file->name, ".so"))
			continue;
		if (dotnet_runtime_read(runtime, file->name, file->bytes)) {
			runtime->file = i;
			return true;
		}
	}
	return false;
}

static void meet_runtime(struct follow *follow, const struct target_files *files)
{
	struct dotnet_runtime runtime;
	struct layout layout;

	if (!find_runtime(files, &runtime) || layout_init(&layout, runtime.major, NULL, NULL))
		return;
	if (!follow->shared->has_layout && probes_set_layout(follow->probes, &layout, NULL))
		return;
	if (runtime.single_file)
		loads_add_bundle(follow->loads, files->files[runtime.file].fd,
				 files->files[runtime.file].name);
	attach_compiler(follow, files, &runtime, NULL);
}

/* The target is being started: by and by what is needed comes up. Nothing of it runs yet. */
static void look_at_libraries(struct follow *follow)
{
	struct target_files files;
	struct maps maps;

	if (probes_have_compiler(follow->probes) && probes_have_mmap(follow->probes))
		return;
	if (maps_read(&maps, &follow->process, NULL))
		return;
	if (target_files_open(&files, &follow->process, &maps, wants_code, NULL) == 0) {
		attach_mmap(follow, &files);
		meet_runtime(follow, &files);
	}
	target_files_close(&files);
	maps_deinit(&maps);
}

/* The thread ------------------------------------------------------------------------------ */

static int on_event(void *ctx, void *data, size_t size)
{
	struct follow *follow = ctx;
	const struct follow_event_head *head = data;
	const struct detailed_compile_event *detailed = data;

	if (size < sizeof(*head))
		return 0;
	switch (head->type) {
	case FOLLOW_COMPILED:
		if (size >= sizeof(*detailed))
			on_compiled(follow, &detailed->event, detailed->detail);
		else if (size >= sizeof(detailed->event))
			on_compiled(follow, &detailed->event, NULL);
		break;
	case FOLLOW_MAPPED:
		if (size >= sizeof(struct mapped_event))
			on_mapped(follow, data);
		break;
	case FOLLOW_LOADED:
		look_at_libraries(follow);
		let_go(follow, head);
		break;
	case FOLLOW_CHUNK:
		if (size >= sizeof(struct chunk_event))
			on_chunk(follow, data);
		break;
	default:
		break;
	}
	return 0;
}

/* One more, if there is one; who has it now may give it back. */
static void take_register(struct follow *follow)
{
	int have = slots_reserved(&follow->slots);

	if (have == BREAKPOINTS_MAX || clock_now_ns() < follow->try_again_ns)
		return;
	if (!slots_reserve(&follow->slots, have + 1))
		follow->try_again_ns = clock_now_ns() + (uint64_t)TRY_AGAIN_MS * NS_PER_MS;
}

static void tick(struct follow *follow)
{
	static const struct follow_note stopped = { .type = NOTE_HOLDING_STOPPED };
	static const struct follow_note full = { .type = NOTE_NO_ROOM };

	if (bodies_tend(follow->bodies))
		take_register(follow);
	/* What cannot be given to a CPU that was switched on is lost there; the rest goes on. */
	if (breakpoints_keep(follow->config.breakpoints, NULL) != 0)
		follow->losses.cpus_switched_on++;
	follow->losses.anchor_exits += (uint64_t)(probes_keep(follow->probes) != 0);
	follow->losses.anchor_exits += (uint64_t)(loads_keep(follow->loads) != 0);
	if (!follow->told_stopped && !atomic_load(&follow->stopping) && follow->config.kernel.can_hold &&
	    follow->config.options->hold_ns &&
	    !__atomic_load_n(&follow->shared->holding, __ATOMIC_ACQUIRE)) {
		follow->told_stopped = true;
		note(follow, &stopped);
	}
	if (!follow->told_room && loads_no_room(follow->loads)) {
		follow->told_room = true;
		note(follow, &full);
	}
	atomic_fetch_add(&follow->ticks, 1);
}

static void *run(void *argument)
{
	struct follow *follow = argument;
	const struct sched_param first = { .sched_priority = PRIORITY };
	uint64_t next_tick = 0;

	/* Where that is not permitted, it takes longer. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!atomic_load(&follow->stopping)) {
		ring_buffer__poll(follow->ring, TICK_MS);
		if (clock_now_ns() < next_tick)
			continue;
		tick(follow);
		next_tick = clock_now_ns() + (uint64_t)TICK_MS * NS_PER_MS;
	}
	return NULL;
}

/* Creating -------------------------------------------------------------------------------- */

static int open_target(struct follow *follow, struct error *err)
{
	int result = process_init(&follow->process, follow->config.pid, err);

	if (result == 0 && pipe2(follow->notes, O_CLOEXEC | O_NONBLOCK) != 0)
		result = error_set(err, -errno, "cannot open a pipe: %s", strerror(errno));
	return result;
}

static int attach_running(struct follow *follow, struct error *err)
{
	const struct resolution *resolution = follow->config.resolution;
	const struct dotnet_runtime *runtime = &resolution->runtime;
	struct maps maps;
	int result;

	if (!resolution->jit)
		return error_set(err, -ENOTSUP, "code compiled at run time cannot be found");
	result = probes_set_layout(follow->probes, &jit_clr(resolution->jit)->layout, err);
	if (result)
		return result;
	if (runtime->single_file) {
		const struct target_file *file = &resolution->files.files[runtime->file];

		loads_add_bundle(follow->loads, file->fd, file->name);
	}
	/* Without this, images that are loaded later are not seen; the end will tell. */
	if (attach_mmap(follow, &resolution->files) == 0 &&
	    maps_read(&maps, &follow->process, NULL) == 0) {
		loads_look(follow->loads, &maps);
		maps_deinit(&maps);
	}
	return attach_compiler(follow, &resolution->files, runtime, err);
}

static int attach_starting(struct follow *follow, struct error *err)
{
	struct stat status;
	struct span bytes;
	int fd = open(follow->config.loader, O_RDONLY | O_CLOEXEC), result;
	void *mapped = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
		mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED) {
		result = error_set(err, -errno, "cannot read the dynamic loader %s: %s",
				   follow->config.loader, strerror(errno));
	} else {
		bytes = (struct span){ mapped, (size_t)status.st_size };
		result = probes_attach_loader(follow->probes, fd, bytes, err);
		munmap(mapped, bytes.size);
	}
	if (fd >= 0)
		close(fd);
	return result;
}

static void adopt_site(struct follow *follow, const struct site *site, uint32_t number, int slot)
{
	struct body body = {
		.site = number,
		.address = site->address,
		.size = site->size,
		.method = site->method_desc,
		.rank = watch_rank(follow->watch, &site->definition),
		.may_be_freed = !site->definition.metadata,
		.entered_by_calls = site->tier != TIER_OSR,
		.superseded = site->state == STATE_SUPERSEDED,
	};
	const struct slot_claim claim = {
		.site = number,
		.address = site->address,
		.method = site->method_desc,
		.rank = body.rank,
		.may_be_freed = body.may_be_freed,
	};

	if (slot >= 0)
		slots_adopt(&follow->slots, slot, &claim);
	bodies_add(follow->bodies, &body);
}

static int slot_of(const struct follow *follow, uint32_t site)
{
	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		if (follow->config.slots[i] == (int)site)
			return i;
	}
	return -1;
}

/* No other instantiation of it can come. */
static bool is_one_method(const struct site *site)
{
	const struct r2r_method *definition = &site->definition;

	return definition->metadata && definition->method_rid &&
	       !metadata_method_is_generic(definition->metadata, definition->method_rid);
}

/* Bodies with a register that will not be replaced. */
static size_t final_count(const struct follow *follow)
{
	size_t count = 0;

	for (int i = 0; i < BREAKPOINTS_MAX; i++) {
		int site = follow->config.slots[i];

		if (site >= 0 && follow->config.plan->sites[site].final &&
		    is_one_method(&follow->config.plan->sites[site]))
			count++;
	}
	return count;
}

static void adopt_plan(struct follow *follow)
{
	const struct plan *plan = follow->config.plan;

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct site *site = &plan->sites[i];

		if (site->method_desc && site->file == PLAN_NO_FILE)
			adopt_site(follow, site, i, slot_of(follow, i));
	}
}

static int open_ring(struct follow *follow, struct error *err)
{
	follow->ring = ring_buffer__new(follow->config.kernel.events_fd, on_event, follow, NULL);
	if (!follow->ring)
		return error_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

static int create_rooms(struct follow *follow, struct error *err)
{
	const struct follow_config *config = &follow->config;
	const struct watch_maps maps = {
		.watched_fd = config->kernel.watched_fd,
		.modules_fd = config->kernel.modules_fd,
	};
	struct loads_config loads = {
		.process = &follow->process,
		.kernel = &follow->config.kernel,
		.resolution = config->resolution,
	};
	int result = watch_create(&follow->watch, config->options, config->resolution, &maps, err);

	slots_init(&follow->slots, config->breakpoints, follow->shared);
	if (result == 0)
		result = bodies_create(&follow->bodies, config->plan->count, &follow->slots, err);
	loads.watch = follow->watch;
	loads.bodies = follow->bodies;
	if (result == 0)
		result = loads_create(&follow->loads, &loads, err);
	if (result == 0)
		result = probes_create(&follow->probes, &config->kernel, &follow->process, err);
	return result ? result : open_ring(follow, err);
}

/*
 * One for each method, and one for whichever is being replaced. Others may want some too: so none for
 * what is not asked for, or will not be compiled again.
 */
static void reserve_registers(struct follow *follow)
{
	size_t patterns = follow->config.options->pattern_count;
	size_t rows = watch_row_count(follow->watch), methods = rows > patterns ? rows : patterns;
	size_t final = final_count(follow);
	size_t wanted = methods + (methods > final);

	/* How many a generic method will be, or what is not there yet, nobody knows. */
	if (watch_is_open_ended(follow->watch))
		wanted = BREAKPOINTS_MAX;
	slots_reserve(&follow->slots,
		      wanted < BREAKPOINTS_MAX ? (int)wanted : BREAKPOINTS_MAX);
}

int follow_create(struct follow **out, const struct follow_config *config, struct error *err)
{
	struct follow *follow = calloc(1, sizeof(*follow));
	int result;

	if (!follow)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	follow->config = *config;
	follow->shared = config->kernel.shared;
	follow->notes[0] = follow->notes[1] = -1;
	follow->process = (struct process){ .pidfd = -1, .proc_fd = -1, .view_fd = -1 };
	follow->times = calloc(TIMES_MAX, sizeof(*follow->times));
	result = follow->times ? open_target(follow, err) :
				 error_set(err, -ENOMEM, "no memory to follow methods");
	if (result == 0)
		result = create_rooms(follow, err);
	if (result == 0) {
		adopt_plan(follow);
		follow->shared->want_dynamic = watch_wants_dynamic(follow->watch);
		__atomic_store_n(&follow->shared->following, 1, __ATOMIC_SEQ_CST);
		result = config->resolution ? attach_running(follow, err) :
					      attach_starting(follow, err);
	}
	if (result) {
		follow_destroy(follow);
		return result;
	}
	reserve_registers(follow);
	*out = follow;
	return 0;
}

void follow_add(struct follow *follow, const struct site *site)
{
	struct body body = { 0 };

	if (!bodies_new_site(follow->bodies, site, false, &body.site))
		return;
	bodies_publish(follow->bodies);
	if (site->mechanism != MECHANISM_BREAKPOINT && site->reason != REASON_NO_DEBUG_REGISTER)
		return;
	adopt_site(follow, site, body.site, -1);
	if (site->tier != TIER_OSR && site->state != STATE_SUPERSEDED) {
		struct body *added = bodies_find_known(follow->bodies, site->address);
		struct follow_note unused = { 0 };

		if (added)
			arm(follow, added, &unused);
	}
}

int follow_start(struct follow *follow, struct error *err)
{
	uint64_t hold_ns = follow->config.options->hold_ns;
	bool holds = follow->config.kernel.can_hold && hold_ns;
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	sigset_t all, before;
	size_t ticks;
	int result;

	follow->shared->hold_ns = hold_ns;
	follow->shared->image_hold_ns =
		hold_ns * (follow->config.resolution ? IMAGE_HOLD_FACTOR : START_HOLD_FACTOR);
	/* A page that has to come from the disk would keep the target waiting. */
	mlockall(MCL_CURRENT | MCL_ONFAULT);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = -pthread_create(&follow->thread, NULL, run, follow);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result)
		return error_set(err, result, "cannot start a thread: %s", strerror(-result));
	follow->started = true;
	__atomic_store_n(&follow->shared->holding, holds, __ATOMIC_SEQ_CST);
	/* Two ticks: what was reported before the first has been answered by the second. */
	ticks = atomic_load(&follow->ticks);
	while (atomic_load(&follow->ticks) < ticks + 2)
		nanosleep(&pause, NULL);
	return 0;
}

/* What others ask ------------------------------------------------------------------------- */

size_t follow_site_count(const struct follow *follow)
{
	return bodies_site_count(follow->bodies);
}

const struct site *follow_site(const struct follow *follow, size_t number)
{
	return bodies_site(follow->bodies, number);
}

bool follow_is_undecided(const struct follow *follow, size_t number)
{
	return bodies_is_undecided(follow->bodies, number);
}

void follow_decide(struct follow *follow, size_t number, bool matches)
{
	bodies_decide(follow->bodies, number, matches);
}

bool follow_matches(const struct follow *follow, size_t number)
{
	return bodies_matches(follow->bodies, number);
}

unsigned int follow_trouble(const struct follow *follow, size_t site)
{
	return bodies_trouble(follow->bodies, site);
}

bool follow_holds(const struct follow *follow)
{
	return __atomic_load_n(&follow->shared->holding, __ATOMIC_ACQUIRE) && !follow->told_stopped;
}

struct follow_losses follow_losses(const struct follow *follow)
{
	struct follow_losses losses = follow->losses;

	losses.compilations = follow->shared->lost;
	losses.unreadable = follow->shared->unreadable;
	losses.others = follow->shared->lost_other;
	losses.timeouts = follow->shared->timeouts;
	losses.sites = loads_no_room(follow->loads);
	losses.blind = loads_blind(follow->loads) || !probes_have_mmap(follow->probes);
	return losses;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

struct follow_times follow_times(const struct follow *follow)
{
	size_t count = follow->time_count < TIMES_MAX ? follow->time_count : TIMES_MAX;
	struct follow_times times = {
		.count = follow->time_count,
		.longest_hold_ns = follow->shared->longest_hold_ns,
	};

	if (count == 0)
		return times;
	qsort(follow->times, count, sizeof(*follow->times), compare_times);
	times.median_ns = follow->times[count / 2];
	times.p99_ns = follow->times[count * 99 / 100];
	times.max_ns = follow->times[count - 1];
	return times;
}

unsigned int follow_detach_ms(const struct follow *follow)
{
	return probes_detach_ms(follow->probes) + loads_detach_ms(follow->loads);
}

void follow_stop(struct follow *follow)
{
	__atomic_store_n(&follow->shared->following, 0, __ATOMIC_SEQ_CST);
	if (!follow->started)
		return;
	atomic_store(&follow->stopping, true);
	pthread_join(follow->thread, NULL);
	__atomic_store_n(&follow->shared->holding, 0, __ATOMIC_SEQ_CST);
	follow->started = false;
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	follow_stop(follow);
	probes_destroy(follow->probes);
	loads_destroy(follow->loads);
	ring_buffer__free(follow->ring);
	bodies_destroy(follow->bodies);
	watch_destroy(follow->watch);
	for (size_t i = 0; i < COPIES_MAX; i++)
		free(follow->copies[i].bytes);
	for (size_t i = 0; i < 2; i++) {
		if (follow->notes[i] >= 0)
			close(follow->notes[i]);
	}
	process_deinit(&follow->process);
	free(follow->times);
	free(follow);
}
