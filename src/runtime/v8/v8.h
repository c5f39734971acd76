/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8, the engine of Node.js, as a runtime: what session/resolve.c registers. JavaScript frames are
 * walked and named; functions are no methods to probe yet.
 */
#ifndef RUNTIME_V8_V8_H
#define RUNTIME_V8_V8_H

#include "runtime/runtime.h"

extern const struct runtime_ops v8_ops;

#endif
