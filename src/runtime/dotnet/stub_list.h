/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stubs in IL by which P/Invokes go, of all that is compiled at one time. */
#ifndef RUNTIME_DOTNET_STUB_LIST_H
#define RUNTIME_DOTNET_STUB_LIST_H

#include <stddef.h>
#include <stdint.h>

struct dotnet_image;
struct jit;
struct jit_method;

/* All zero before it is filled. */
struct stub_list {
	struct stub {
		const struct jit_method *method;
		const struct dotnet_image *image;
		char *params; /* as pinvoke_may_share() takes them */
	} * stubs;	      /* NULL: not filled yet */
	size_t count;
};

/* List the stubs of @jit, which must outlive @list. -ENOMEM. */
int stub_list_fill(struct stub_list *list, struct jit *jit);
void stub_list_deinit(struct stub_list *list);

/* The next stub, from number *@at on, that method @rid of @image may go by; NULL: no more. */
const struct jit_method *stub_list_next(const struct stub_list *list,
					const struct dotnet_image *image, uint32_t rid, size_t *at);

#endif
