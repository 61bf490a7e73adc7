/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_build.h"

#include <errno.h>
#include <stdlib.h>

#include "table_rows.h"

static const struct table_rows_path *fastest(struct table_rows_path paths[TABLE_ROWS_PATHS])
{
	table_rows_paths(paths);
	while (!paths->usable)
		paths++;
	return paths;
}

static int build_one(struct table *table)
{
	struct table_rows_path paths[TABLE_ROWS_PATHS];
	struct table_candidate *candidates = calloc(table->backend_count + 1, sizeof(*candidates));
	uint32_t count = candidates ? table_rows_candidates(table, candidates) : 0;
	uint8_t row_hops = (uint8_t)(count < table->hops ? count : table->hops);
	uint16_t *rows = count ? malloc(sizeof(*rows) * TABLE_ROWS * row_hops) : NULL;

	if (rows) {
		fastest(paths)->fill(
			&(struct table_rows_job){
				.seed = table->seed,
				.candidates = candidates,
				.candidate_count = count,
				.row_hops = row_hops,
				.rows = rows,
			},
			0, TABLE_ROWS);
		free(table->rows);
		table->rows = rows;
		table->row_hops = row_hops;
	}
	free(candidates);
	return rows ? 0 : candidates && !count ? -EINVAL : -ENOMEM;
}

int table_build(struct table_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		int error = build_one(&set->tables[i]);

		if (error)
			return error;
	}
	return 0;
}
