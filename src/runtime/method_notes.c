// SPDX-License-Identifier: GPL-2.0-or-later
/* What the runtimes know of methods, as values: what is alike for all of them. */
#include "runtime/method_notes.h"

#include <stdlib.h>

void method_inliners_deinit(struct method_inliners *inliners)
{
	for (size_t i = 0; inliners->names && inliners->names[i]; i++)
		free(inliners->names[i]);
	free(inliners->names);
	free(inliners->method);
	*inliners = (struct method_inliners){ 0 };
}
