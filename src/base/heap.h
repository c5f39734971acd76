/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of the heap. Until something is attached, half of the time would go into having tens of
 * megabytes given page by page, each of which costs 4 to 13 us in a virtual machine. So the heap
 * begins with huge ones, and keeps what is freed for whoever is next.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/*
 * Before anything large is allocated, and after processes are split off: what is shared with them
 * is copied page by page. Without huge pages it changes nothing that can be seen.
 */
void heap_begin(void);

/*
 * Before the first thread is held: no more huge pages. khugepaged locks the memory that it makes
 * some of, and has the lowest priority: on busy CPUs it takes seconds, in which the thread that
 * answers whoever is held cannot touch a page for the first time. What is freed from now on at the
 * end of the heap goes back to the kernel.
 */
void heap_settle(void);

#endif
