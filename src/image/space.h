/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three spaces of numbers that name a place in code. They are distinct types
 * because mixing them up puts a probe into the wrong instruction: one becomes
 * another only through an image (pe.h) or a mapping (target/maps.h).
 */
#ifndef IMAGE_SPACE_H
#define IMAGE_SPACE_H

#include <stdint.h>

/* Relative to where an image is loaded. */
struct rva {
	uint32_t value;
};

/* From the start of a file on disk, the unit of a uprobe. */
struct file_offset {
	uint64_t value;
};

/* In the target's address space. */
struct address {
	uint64_t value;
};

#endif
