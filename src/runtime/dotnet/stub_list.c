// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/dotnet/stub_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/images.h"
#include "runtime/dotnet/jit.h"
#include "runtime/dotnet/pinvoke.h"
#include "method/method_name.h"
#include "base/text.h"

/* -ENOMEM. */
static int add_stub(struct stub_list *list, struct jit *jit, const struct jit_method *method,
		    struct method_name *name)
{
	const struct clr_module *module = jit_stub_module(jit, method);
	struct stub *stub = &list->stubs[list->count];

	if (!module || !module->image)
		return 0;
	(void)jit_method_name(jit, method, name);
	*stub = (struct stub){ method, module->image, strdup(text_chars(&name->params)) };
	if (!stub->params)
		return -ENOMEM;
	list->count++;
	return 0;
}

int stub_list_fill(struct stub_list *list, struct jit *jit)
{
	struct method_name name = { 0 };
	size_t count = jit_method_count(jit);
	int result;

	list->stubs = calloc(count + 1, sizeof(*list->stubs));
	result = list->stubs ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && result == 0; i++)
		result = add_stub(list, jit, jit_method(jit, i), &name);
	method_name_deinit(&name);
	return result;
}

const struct jit_method *stub_list_next(const struct stub_list *list,
					const struct dotnet_image *image, uint32_t rid, size_t *at)
{
	while (*at < list->count) {
		const struct stub *stub = &list->stubs[(*at)++];

		if (stub->image == image && pinvoke_may_share(image->metadata, rid, stub->params))
			return stub->method;
	}
	return NULL;
}

void stub_list_deinit(struct stub_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->stubs[i].params);
	free(list->stubs);
}
