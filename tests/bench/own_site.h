/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a benchmark has probes in its own code. */
#ifndef BENCH_OWN_SITE_H
#define BENCH_OWN_SITE_H

#include <stdint.h>

#include "probe/uprobes.h"
#include "target/maps.h"

/* @code is mapped, as @maps say, from the program that @fd is of; @cookie is what the probe gets. */
static inline struct uprobe_site own_site(const struct maps *maps, int fd, uintptr_t code,
					  uint64_t cookie)
{
	const struct mapping *mapping = maps_find(maps, (struct address){ code });

	return (struct uprobe_site){
		.file_fd = fd,
		.offset = { mapping ? mapping->offset.value + code - mapping->start.value : 0 },
		.cookie = cookie,
	};
}

#endif
