// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stubs by which P/Invokes go: sites for compilations.c, which has the event. Methods that look
 * alike share one, also those that are first called when it is there: so all that may share it get
 * a site when it is compiled, and the programs tell hits apart by the method that is called, which
 * they read by way of r10 as at a compilation. One of the sites has the probe and its register;
 * what happens to those holds for all.
 */
#include <bpf/bpf.h>

#include "follow/jit/compilations_internal.h"

/* Hits of method @watch at @address are those of @site. */
static void tell_programs(const struct compilations *jit, struct address address, uint32_t watch,
			  uint32_t site)
{
	const struct stub_key key = { .address = address.value, .watch = watch };

	if (bpf_map_update_elem(jit->config.stub_sites_fd, &key, &site, BPF_ANY))
		sites_add_trouble(jit->messages->sites, site, TROUBLE_REFUSED);
}

void stubs_adopt(struct compilations *jit, const struct site *site, uint32_t number)
{
	uint32_t watch = 0;

	/* Else it has the calls of all methods that are not asked for. */
	if (site->stub && !watch_find_stub(jit->watch, &site->id, &watch))
		sites_add_trouble(jit->messages->sites, number, TROUBLE_REFUSED);
	else
		tell_programs(jit, site->address, watch, number);
}

/* The site of one more method that may go by the stub of @site, which is numbered @with. */
static void add_sharer(struct compilations *jit, const struct site *stub, uint32_t with,
		       const struct watch_row *row, uint32_t watch)
{
	struct site site = *stub;
	uint32_t number;

	compilations_name(&site, row);
	site.stub = row->is.image != NULL;
	site.shares_probe = true;
	if (!sites_add(jit->messages->sites, &site, !row->is.sure, &number)) {
		jit->messages->losses.sites++;
		return;
	}
	sites_share(jit->messages->sites, number, with);
	tell_programs(jit, site.address, watch, number);
}

void stubs_share(struct compilations *jit, const struct compile_event *event,
		 const struct site *stub, uint32_t with)
{
	const struct watch_row *row;
	size_t at = 0;
	uint32_t watch;
	bool first = true;

	while ((row = watch_next_stub(jit->watch, event, text_chars(&jit->stub_params), &at,
				      &watch))) {
		if (!first)
			add_sharer(jit, stub, with, row, watch);
		else
			tell_programs(jit, stub->address, watch, with);
		first = false;
	}
	row = jit->messages->shared->want_dynamic ?
		      watch_find_dynamic(jit->watch, watch_images(jit->watch)->ops->stub_name) :
		      NULL;
	if (row)
		add_sharer(jit, stub, with, row, 0);
}

const struct watch_row *stubs_find(struct compilations *jit, const struct compile_event *event,
				   const uint8_t *detail)
{
	size_t at = 0, size = detail ? (size_t)(detail[0] | detail[1] << 8) : 0;
	uint32_t watch;

	/* Of a module that was not known it is not here: then all may share it. */
	text_clear(&jit->stub_params);
	if (size && size <= FOLLOW_DETAIL_BYTES - 2)
		watch_spell_params(jit->watch, event, (struct span){ detail + 2, size },
				   &jit->stub_params);
	else
		text_add_char(&jit->stub_params, '?');
	return watch_next_stub(jit->watch, event, text_chars(&jit->stub_params), &at, &watch);
}
