/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract descriptor: the runtime's description of its own structures for tools that read
 * them from outside, exported as DotNetRuntimeContractDescriptor from .NET 9 on.
 *
 * Source of the format: dotnet/runtime docs/design/datacontracts/contract-descriptor.md and
 * data_descriptor.md (the compact JSON form).
 */
#ifndef RUNTIME_DOTNET_CONTRACT_H
#define RUNTIME_DOTNET_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

struct contract;
struct error;
struct memory;

/*
 * Read the descriptor at @at in the target's memory. -EBADMSG or -ENOMEM with @err set.
 * Ends with contract_destroy().
 */
int contract_read(struct contract **contract, struct memory *memory, uint64_t at,
		  struct error *err);
void contract_destroy(struct contract *contract);

/* The offset of a field, or of a type's size with "!"; -1 if it does not say. */
int32_t contract_field(const struct contract *contract, const char *type, const char *field);

/* The value of a global, or the address it stands for. */
bool contract_global(const struct contract *contract, const char *name, uint64_t *value);

/* What contract_version() gives for a version that makes no sense here; none is as high. */
enum { CONTRACT_VERSION_STRANGE = UINT8_MAX };

/*
 * The version of one of its algorithms, "ExecutionManager"; 0 if it says nothing of it. A number, or
 * from .NET 11 on, where they were counted anew, a string: "c1" is CONTRACT_ANEW | 1.
 */
enum { CONTRACT_NUMBER = UINT8_MAX, CONTRACT_ANEW = 1 << 8 };
unsigned int contract_version(const struct contract *contract, const char *algorithm);

#endif
