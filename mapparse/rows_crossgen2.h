/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of crossgen2's --map and --mapcsv: every node of the image, methods among them. */
#ifndef MAPPARSE_ROWS_CROSSGEN2_H
#define MAPPARSE_ROWS_CROSSGEN2_H

#include "line.h"
#include "rows.h"

enum mapparse_line mapparse_rows_read_map(struct mapparse_rows *rows, struct mapparse_slice line,
					  bool is_cut, struct mapparse_row *row);
enum mapparse_line mapparse_rows_read_csv(struct mapparse_rows *rows, struct mapparse_slice line,
					  bool is_cut, struct mapparse_row *row);

/* rows.c: are the numbers of @row possible ones? Else what is wrong with them. */
enum mapparse_line mapparse_rows_range(struct mapparse_rows *rows, enum mapparse_number address,
				       enum mapparse_number size, struct mapparse_row *row);

#endif
