// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sites that new code has, between the follower that adds them and the main thread that names
 * and prints them.
 */
#include "follow/messages/sites.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "bpf/watch.h"

enum decision {
	DECIDED_YES,
	DECIDED_NO,
	UNDECIDED,
};

struct late_site {
	struct site site;
	_Atomic int decision;
};

/* Of a site that was there before. */
struct known_method {
	struct method_id id;
	uint64_t method_desc;
	bool single;
};

struct sites {
	size_t first;
	struct known_method *known;	/* by number, the first ones; NULL: nobody asks */
	struct watch_program *programs; /* by number */
	struct late_site *late;		/* FOLLOW_SITES_MAX */
	size_t made;
	_Atomic size_t published;
	_Atomic unsigned int *trouble; /* by number, those of the plan first */
	_Atomic uint32_t *shares; /* likewise: with which other site it has its probe, + 1; or 0 */
	_Atomic bool *retired; /* likewise: it is gone, as the thread has found that reads memory */
};

int sites_create(struct sites **out, size_t first, struct error *err)
{
	struct sites *sites = calloc(1, sizeof(*sites));
	size_t capacity = first + FOLLOW_SITES_MAX;

	if (sites) {
		sites->first = first;
		sites->late = calloc(FOLLOW_SITES_MAX, sizeof(*sites->late));
		sites->trouble = calloc(capacity, sizeof(*sites->trouble));
		sites->retired = calloc(capacity, sizeof(*sites->retired));
		sites->shares = calloc(capacity, sizeof(*sites->shares));
	}
	if (!sites || !sites->late || !sites->trouble || !sites->retired || !sites->shares) {
		sites_destroy(sites);
		return error_set(err, -ENOMEM, "no memory to follow methods");
	}
	*out = sites;
	return 0;
}

void sites_destroy(struct sites *sites)
{
	if (!sites)
		return;
	for (size_t i = 0; i < sites->made; i++)
		site_deinit(&sites->late[i].site);
	free(sites->known);
	free(sites->late);
	free(sites->trouble);
	free(sites->retired);
	free(sites->shares);
	free(sites);
}

size_t sites_capacity(const struct sites *sites)
{
	return sites->first + FOLLOW_SITES_MAX;
}

int sites_use_programs(struct sites *sites, const struct plan *plan, struct watch_program *programs,
		       struct error *err)
{
	sites->known = calloc(sites->first + 1, sizeof(*sites->known));
	if (!sites->known)
		return error_set(err, -ENOMEM, "no memory to follow methods");
	for (size_t i = 0; i < sites->first && i < plan->count; i++)
		sites->known[i] = (struct known_method){
			.id = plan->sites[i].id,
			.method_desc = plan->sites[i].method_desc,
			.single = plan->sites[i].traits.single,
		};
	sites->programs = programs;
	return 0;
}

static struct known_method known_method(const struct sites *sites, size_t number)
{
	const struct site *site;

	if (number < sites->first)
		return sites->known[number];
	site = &sites->late[number - sites->first].site;
	return (struct known_method){ site->id, site->method_desc, site->traits.single };
}

/* Only memory tells instantiations of one method apart. */
static bool is_of_method(const struct site *site, const struct known_method *known)
{
	if (site->method_desc && site->method_desc == known->method_desc)
		return true;
	return site->id.token && site->traits.single && known->single &&
	       method_id_definition_order(&site->id, &known->id) == 0;
}

static void take_program(const struct sites *sites, const struct site *site, uint32_t number)
{
	uint64_t program = 0;

	for (size_t i = 0; i < number && !program; i++) {
		const struct known_method known = known_method(sites, i);

		if (is_of_method(site, &known))
			program =
				__atomic_load_n((uint64_t *)&sites->programs[i], __ATOMIC_SEQ_CST);
	}
	/* The main thread may have been first. */
	if (program)
		__atomic_store_n((uint64_t *)&sites->programs[number], program, __ATOMIC_SEQ_CST);
}

struct site *sites_add(struct sites *sites, const struct site *like, bool undecided,
		       uint32_t *number)
{
	struct late_site *late;

	if (sites->made == FOLLOW_SITES_MAX)
		return NULL;
	late = &sites->late[sites->made];
	if (!site_copy(&late->site, like))
		return NULL;
	late->decision = undecided ? UNDECIDED : DECIDED_YES;
	*number = (uint32_t)(sites->first + sites->made++);
	if (sites->programs)
		take_program(sites, &late->site, *number);
	return &late->site;
}

void sites_publish(struct sites *sites)
{
	atomic_store(&sites->published, sites->made);
}

size_t sites_count(const struct sites *sites)
{
	return atomic_load(&sites->published);
}

const struct site *sites_at(const struct sites *sites, size_t late)
{
	return &sites->late[late].site;
}

bool sites_is_undecided(const struct sites *sites, size_t late)
{
	return atomic_load(&sites->late[late].decision) == UNDECIDED;
}

void sites_decide(struct sites *sites, size_t late, bool matches)
{
	atomic_store(&sites->late[late].decision, matches ? DECIDED_YES : DECIDED_NO);
}

bool sites_is_ours(const struct sites *sites, uint32_t number)
{
	if (atomic_load(&sites->retired[number]))
		return false;
	return number < sites->first ||
	       atomic_load(&sites->late[number - sites->first].decision) != DECIDED_NO;
}

void sites_retire(struct sites *sites, size_t number)
{
	if (number < sites_capacity(sites))
		atomic_store(&sites->retired[number], true);
}

void sites_add_trouble(struct sites *sites, size_t number, unsigned int trouble)
{
	if (number < sites_capacity(sites))
		atomic_fetch_or(&sites->trouble[number], trouble);
}

void sites_share(struct sites *sites, size_t number, size_t with)
{
	if (number < sites_capacity(sites) && with < sites_capacity(sites))
		atomic_store(&sites->shares[number], (uint32_t)with + 1);
}

uint32_t sites_probe_of(const struct sites *sites, uint32_t number)
{
	uint32_t with = number < sites_capacity(sites) ? atomic_load(&sites->shares[number]) : 0;

	return with ? with - 1 : number;
}

unsigned int sites_trouble(const struct sites *sites, size_t number)
{
	if (number >= sites_capacity(sites))
		return 0;
	return atomic_load(&sites->trouble[number]) |
	       atomic_load(&sites->trouble[sites_probe_of(sites, (uint32_t)number)]);
}
