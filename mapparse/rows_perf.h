/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of perf-PID.map and perfinfo-PID.map, which many programs write. */
#ifndef MAPPARSE_ROWS_PERF_H
#define MAPPARSE_ROWS_PERF_H

#include "rows.h"

/* What @row->raw_name is: kind, tier (cut off the name) and, for a script's function, where. */
void mapparse_rows_classify_perf(struct mapparse_row *row);

enum mapparse_line mapparse_rows_read_perfinfo(struct mapparse_rows *rows,
					       struct mapparse_slice line,
					       struct mapparse_row *row);

#endif
