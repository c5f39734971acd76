/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of code the runtime never writes again, so that a copy of them stays true. A page is
 * sealed if all of this holds:
 *
 * a. Its heap is never freed, and hands out its memory once, from its beginning to its end: no
 *    range of collectible code, and of the class that the oldest heap is of. Dynamic methods have
 *    heaps of another class, in which code comes and goes.
 * b. It lies below the end of what the heap has handed out, so nothing more comes to lie in it.
 * c. It has nothing of a block of stubs, which the runtime fills bit by bit, and changes. A block
 *    reaches to the next body, however long it is.
 * d. All that was handed out in it is in its place. A body is handed out when the JIT has compiled
 *    it, then copied there in one go, its header with it, then marked in the nibble map. Until
 *    it is copied it is all zeros, as the heap never hands out what was in use. So where there are
 *    more zeros between two marked bodies than their alignment takes, the page is not sealed: a
 *    body begins at a multiple of 16, with its header before it and its unwind information behind
 *    it, with which a marked body ends.
 *
 * What d leaves are bodies that are just being copied. The thread that does it is on a CPU, or
 * waits for one, so before anything relies on what is read here, all threads must have been seen
 * asleep in a system call since then, or with more time on a CPU than any copying takes:
 * target/settle.h. Once that has been, a page stays sealed for the life of the process.
 *
 * By the sources of 8, 9 and 10: src/coreclr/vm/codeman.cpp (EEJitManager::allocCode, HeapList,
 * LoaderCodeHeap::AllocMemForCode_NoThrow), src/coreclr/vm/jitinterface.cpp (WriteCodeBytes); and
 * as watched in processes that compiled without a pause. A debugger or profiler that writes to code
 * keeps to no rule: who relies on a copy compares it with the code now and then.
 */
#ifndef RUNTIME_DOTNET_SEALED_H
#define RUNTIME_DOTNET_SEALED_H

#include "runtime/dotnet/clr.h"
#include "runtime/sealed.h"

/* Add what is sealed to @pages, which is empty; what cannot be read is not. -ENOMEM, @err set. */
int sealed_code_read(struct sealed_pages *pages, const struct clr *clr, struct error *err);

#endif
