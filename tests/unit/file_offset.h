/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in its file a process has what lies at an address: for tests that probe themselves. */
#ifndef FILE_OFFSET_H
#define FILE_OFFSET_H

#include "tests/unit/unit.h"

#include "target/maps.h"
#include "target/process.h"

static inline struct file_offset offset_of(struct process *process, struct address address)
{
	const struct mapping *mapping;
	struct file_offset offset;
	struct maps maps;

	assert_return_code(maps_read(&maps, process, NULL), 0);
	mapping = maps_find(&maps, address);
	assert_non_null(mapping);
	offset = mapping_offset(mapping, address);
	maps_deinit(&maps);
	return offset;
}

#endif
