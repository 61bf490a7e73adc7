/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The telemetry commands that read the director's state, a file each. Each fills *data with a whole reply. `parameters`: what
 * followed the first comma of the request; NULL: there was none. 0, or -errno: then there is no reply. They run in DPDK's telemetry
 * threads.
 */
#ifndef GLB_DIRECTOR_CONTROL_TELEMETRY_COMMANDS_H
#define GLB_DIRECTOR_CONTROL_TELEMETRY_COMMANDS_H

#include "director/director.h"

struct rte_tel_data;

int telemetry_stats(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_tables(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_lookup(struct director *director, const char *parameters, struct rte_tel_data *data);

#endif
