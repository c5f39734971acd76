/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of the time each method was watched, where bodies take turns on the debug registers:
 * what a count has to be divided by, for an estimate.
 */
#ifndef SESSION_WATCHED_H
#define SESSION_WATCHED_H

struct session;
struct site;
struct verdict;

/*
 * Along plan->by_method, of the method that begins there: 0 to 1, of the whole run; 1 unless the
 * verdict is that it had no register at times. To be freed; NULL without memory. After
 * follow_stop().
 */
double *watched_shares(const struct session *session, const struct verdict *verdict);

/* Likewise of the body of one site. */
double watched_share(const struct session *session, const struct site *site);

#endif
