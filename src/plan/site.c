// SPDX-License-Identifier: GPL-2.0-or-later
/* One site of a plan: copied, refused, placed. See plan.h. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/timed.h"

void site_refuse(struct site *site, enum reason reason, int kernel_error)
{
	site->mechanism = MECHANISM_NONE;
	site->reason = reason;
	site->kernel_error = kernel_error;
}

void site_place_compiled(struct site *site)
{
	site->file = BODY_NO_FILE;
	site->mechanism = MECHANISM_BREAKPOINT;
	if (site->tier == TIER_OSR)
		site_refuse(site, REASON_OSR_BODY, 0);
}

/* One more than there are: none, where that is known, are not NULL. */
static struct site_exit *copy_exits(const struct site *site)
{
	struct site_exit *copy = calloc((size_t)site->exit_count + 1, sizeof(*copy));

	if (copy)
		memcpy(copy, site->exits, site->exit_count * sizeof(*copy));
	return copy;
}

bool site_copy(struct site *copy, const struct site *site)
{
	*copy = *site;
	copy->method = strdup(site->method);
	copy->made_from = site->made_from ? strdup(site->made_from) : NULL;
	copy->exits = site->exits ? copy_exits(site) : NULL;
	if (copy->method && (copy->made_from || !site->made_from) && (copy->exits || !site->exits))
		return true;
	site_deinit(copy);
	*copy = (struct site){ 0 };
	return false;
}

void site_deinit(struct site *site)
{
	free(site->method);
	free(site->made_from);
	free(site->exits);
}

bool site_may_be_instance(const struct site *site)
{
	return !site->traits.single;
}

bool site_is_missed(const struct site *site)
{
	switch (site->reason) {
	case REASON_NONE:	  /* it is probed */
	case REASON_NOT_COMPILED: /* there is nothing yet */
	case REASON_NO_IL:	  /* nor ever will be */
	case REASON_SAME_CODE:	  /* counted with the other */
	case REASON_SUPERSEDED:	  /* calls go elsewhere */
	case REASON_REJECTED:
	case REASON_OSR_BODY:
	case REASON_OTHER_METHOD:
		return false;
	default:
		return true;
	}
}

/* Does the kernel take one at its entry? */
static bool takes_uprobe(const struct site *site)
{
	return site->cost == INSN_EMULATED || site->cost == INSN_SINGLE_STEPPED;
}

void site_use_uprobe(struct site *site, size_t file, struct file_offset offset)
{
	/* Which method it is only breakpoints ask. */
	if (!site_has_breakpoint(site) || !takes_uprobe(site) || site->stub || site->shares_probe)
		return;
	site->file = file;
	site->offset = offset;
	site->mechanism = MECHANISM_UPROBE;
	site->reason = REASON_NONE;
}

bool site_takes_remapped(const struct plan *plan, const struct site *site)
{
	/* The kernel makes a call of what is patchable, and a copy would not be as the file is. */
	if (site->file != BODY_NO_FILE || site->may_be_freed || site->stub || site->shares_probe ||
	    !site_has_breakpoint(site) || !takes_uprobe(site) || site->patchable)
		return false;
	for (uint32_t i = 0; i < site->exit_count; i++) {
		if (site->exits[i].refused)
			return false;
	}
	return !plan->timed || site->final;
}

void site_remap(struct site *site, struct file_offset offset)
{
	site->offset = offset;
	site->mechanism = MECHANISM_UPROBE;
	site->reason = REASON_NONE;
	/* Parts of a body may be on both sides of its entry. */
	for (uint32_t i = 0; i < site->exit_count; i++)
		site->exits[i].offset.value =
			offset.value + (site->exits[i].address.value - site->address.value);
}

void site_unmap(struct site *site)
{
	site->offset.value = 0;
	site->mechanism = MECHANISM_BREAKPOINT;
	for (uint32_t i = 0; i < site->exit_count; i++)
		site->exits[i].offset.value = 0;
}
