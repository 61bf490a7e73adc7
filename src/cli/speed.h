/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes how fast the packets of a table file are: prefix lengths, port maps, and warnings (packet/slow.h). For show
 * and check. */
#pragma once

#include <jansson.h>

#include "common/faults.h"
#include "packet/slow.h"
#include "table/table.h"

struct speed {
	char v4[SLOW_LENGTHS_TEXT], v6[SLOW_LENGTHS_TEXT]; /* prefix lengths of the binds, longest first */
	uint32_t port_maps;
	struct faults slow; /* warnings without a file name */
};

/* The caller calls speed_free(). */
void speed_find(const struct table_set *set, struct speed *speed);
void speed_free(struct speed *speed);

void speed_print(const struct speed *speed);

/* Returns an object with the keys prefix_lengths, port_maps and slow. The caller owns it. */
json_t *speed_json(const struct speed *speed);

/* Adds the warnings to a list that names the file. */
void speed_warn(const struct table_set *set, struct faults *faults);
