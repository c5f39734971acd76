/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the frames of a target that has been resolved, from its runtimes. */
#ifndef SESSION_FRAME_NAMES_H
#define SESSION_FRAME_NAMES_H

#include "runtime/runtime.h"

struct error;
struct resolution;
struct symbols;

/* @directories may be NULL. @resolution must outlive the result. -ENOMEM with @err set. */
int frame_names_create(struct symbols **symbols, struct resolution *resolution,
		       enum source_lines lines, const struct symbol_directories *directories,
		       struct error *err);

#endif
