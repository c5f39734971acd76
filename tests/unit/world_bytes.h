/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a made-up target, for clr_world.h and v8_world.h. Each includes it behind its own
 * struct world, which has bytes, used, fields, field_count, on_read and reads as those have them.
 */
#ifndef TESTS_UNIT_WORLD_BYTES_H
#define TESTS_UNIT_WORLD_BYTES_H

enum { WORLD_PAGE = 4096 };

static inline void world_check(bool right)
{
	if (!right)
		abort();
}

static inline bool world_holds(const struct world *world, uint64_t at, uint64_t size)
{
	return at >= WORLD_BASE && at - WORLD_BASE <= world->used &&
	       size <= world->used - (at - WORLD_BASE);
}

static inline uint8_t *world_at(struct world *world, uint64_t at, uint64_t size)
{
	world_check(world_holds(world, at, size));
	return world->bytes + (at - WORLD_BASE);
}

static inline void world_put(struct world *world, uint64_t at, uint64_t value, size_t size)
{
	memcpy(world_at(world, at, size), &value, size);
	if (world->field_count < WORLD_FIELDS_MAX)
		world->fields[world->field_count++] = (struct world_field){
			(uint32_t)(at - WORLD_BASE),
			(uint32_t)size,
		};
}

/* What is beyond the last page in use is not mapped. */
static inline ssize_t world_read(void *ctx, void *to, size_t size, uint64_t at)
{
	struct world *world = ctx;
	size_t mapped = (world->used + WORLD_PAGE - 1) / WORLD_PAGE * WORLD_PAGE;
	size_t part;

	world->reads++;
	if (world->on_read)
		world->on_read(world, at);
	if (at < WORLD_BASE || at - WORLD_BASE >= mapped)
		return 0;
	part = mapped - (size_t)(at - WORLD_BASE);
	if (part > size)
		part = size;
	memcpy(to, world->bytes + (at - WORLD_BASE), part);
	return (ssize_t)part;
}

#endif
