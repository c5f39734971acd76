/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which number a file of the target has, whoever sees it first: the session, which opens what is
 * mapped (files.h), or the follower, which sees a file before that. Any thread asks at any time: it
 * takes no lock, waits for nobody and allocates nothing.
 */
#ifndef TARGET_NUMBERS_H
#define TARGET_NUMBERS_H

#include <sys/types.h>

struct error;
struct file_numbers;

enum { FILE_NUMBERS_MAX = 1 << 15 /* more than both keep open */ };

/* -errno with @err set. */
int file_numbers_create(struct file_numbers **numbers, struct error *err);
void file_numbers_destroy(struct file_numbers *numbers);

/*
 * The number of the file with @inode, which somebody has open: so it is no other file's, and the
 * number is this one's for as long as that is so. Below FILE_NUMBERS_MAX, in the order in which
 * files are asked for; -EMFILE if there are no more.
 */
long file_numbers_take(struct file_numbers *numbers, dev_t device, ino_t inode);

/* One that nobody gets who asks for a file; -EMFILE likewise. */
long file_numbers_take_alone(struct file_numbers *numbers);

#endif
