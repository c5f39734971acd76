// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of methods' identities, for those who sort them. */
#include "method/method_id.h"

int method_id_definition_order(const struct method_id *a, const struct method_id *b)
{
	if (a->runtime != b->runtime)
		return a->runtime < b->runtime ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->token < b->token ? -1 : a->token > b->token;
}

int method_id_order(const struct method_id *a, const struct method_id *b)
{
	int order = method_id_definition_order(a, b);

	if (order || a->instantiation == b->instantiation)
		return order;
	return a->instantiation < b->instantiation ? -1 : 1;
}
