/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of the kernel, in the form of its documentation (bpf/btf.rst): as much as tells where a
 * member lies. libbpf makes an index of all 150,000 types first, which takes 85 ms in a virtual
 * machine; this looks at those before the one that is asked for, in 0.6.
 */
#ifndef IMAGE_BTF_H
#define IMAGE_BTF_H

#include <stdint.h>

#include "image/cursor.h"

/*
 * In bits, from the beginning of structure path[0], where member path[1] lies, or of that member
 * path[2], and so on; @path ends with NULL. -1: it is not there, or not in these types.
 */
int64_t btf_member_at(struct span btf, const char *const *path);

#endif
