/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What .NET knows of a target that was looked at: for tools that show more than the interface has. */
#ifndef TESTS_TOOLS_DOTNET_OF_H
#define TESTS_TOOLS_DOTNET_OF_H

#include "runtime/dotnet/dotnet.h"
#include "session/resolve.h"

static inline struct dotnet *dotnet_of(const struct resolution *resolution)
{
	return (struct dotnet *)runtimes_get(&resolution->runtimes, RUNTIME_DOTNET);
}

#endif
