/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs that follow methods are told of the runtime's structures. The follower
 * calls this once it knows the version, before compileMethod is probed.
 */
#ifndef RUNTIME_DOTNET_FOLLOW_LAYOUT_H
#define RUNTIME_DOTNET_FOLLOW_LAYOUT_H

struct error;
struct follow_shared;
struct layout;

/* Tell the programs where fields lie. -ENOTSUP with @err set where they cannot deal with it. */
int layout_for_programs(const struct layout *layout, struct follow_shared *shared,
			struct error *err);

#endif
