// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks the runtime of a target that has been resolved what it knows of a method. */
#include "session/method_notes.h"

#include "session/resolve.h"

int method_inliners_find(struct method_inliners *inliners, const struct resolution *resolution,
			 const struct method_id *id, size_t named)
{
	struct runtime *runtime = runtimes_get(&resolution->runtimes, id->runtime);

	*inliners = (struct method_inliners){ 0 };
	return runtime && runtime->ops->inliners ?
		       runtime->ops->inliners(runtime, inliners, id, named) :
		       0;
}

bool method_native_function(const struct resolution *resolution, const struct method_id *id,
			    struct text *out)
{
	struct runtime *runtime = runtimes_get(&resolution->runtimes, id->runtime);

	return runtime && runtime->ops->native_function &&
	       runtime->ops->native_function(runtime, id, out);
}
