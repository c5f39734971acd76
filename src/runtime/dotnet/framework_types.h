/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of the framework that are shown in a way of their own, for value_types.c. */
#ifndef RUNTIME_DOTNET_FRAMEWORK_TYPES_H
#define RUNTIME_DOTNET_FRAMEWORK_TYPES_H

#include "runtime/dotnet/value_types.h"

/*
 * @type of objects with MethodTable @handle has its fields. If it is a task or a delegate, or
 * derives from one, it becomes what value.h says of these. A task of the framework's own, as each
 * async method has one, is called as what it derives from.
 */
void framework_type_of_object(struct type_maker *maker, struct value_type *type, uint64_t handle);

/* The same of a struct, by its open name of @length bytes. */
void framework_type_of_struct(struct value_type *type, const char *name, size_t length);

#endif
