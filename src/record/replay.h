/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --replay: what a recorded run would have printed with other options of output. */
#ifndef RECORD_REPLAY_H
#define RECORD_REPLAY_H

struct error;
struct options;

enum replay_status {
	REPLAY_OK,
	REPLAY_FAILED,	/* what could be read was printed */
	REPLAY_REFUSED, /* the options ask for what is not in the record */
	REPLAY_LOSSY,	/* with --strict: the run had lost something */
};

/* Needs no rights but to read the file. @err is set if it does not end well. */
enum replay_status replay_run(const struct options *options, struct error *err);

#endif
