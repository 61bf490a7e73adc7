/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The telemetry commands that read the director's state, one file per command. A command fills *data with a whole reply
 * and returns 0, or returns -errno, and there is no reply. parameters: the text after the first comma of the request;
 * NULL: there is none. Commands run in telemetry threads of DPDK.
 */
#pragma once

#include "director/director.h"

struct rte_tel_data;

int telemetry_stats(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_health(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_tables(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_underlay(struct director *director, const char *parameters, struct rte_tel_data *data);
int telemetry_next_hops(struct director *director, const char *parameters, struct rte_tel_data *data);

/*
 * Adds `next_hops`: the next hop of a packet to a backend, from each port. data: NULL adds nothing.
 * Returns whether the packet has a next hop from one port at least.
 */
bool telemetry_packet_next_hops(const struct director *director, const struct netaddr *backend, uint16_t source_port,
	struct rte_tel_data *data);

int telemetry_lookup(struct director *director, const char *parameters, struct rte_tel_data *data);
