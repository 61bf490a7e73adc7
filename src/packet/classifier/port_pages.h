/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the port maps and pages of a struct portmap. Equal maps and equal pages are stored once. Only portmap_build()
 * uses it, in one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/classify.h"
#include "packet/classifier/portmap.h"

struct port_pages;

/* The maps and pages are stored in *portmap. prefixes: their number. NULL: out of memory. */
struct port_pages *port_pages_create(struct portmap *portmap, const struct portmap_limits *limits, uint32_t prefixes);
void port_pages_free(struct port_pages *store);

/*
 * Returns the port map of a prefix for one protocol: the map of its parent prefix, where each range takes the ports
 * whose order is higher or missing. Without room for the map, the result is the map of PORTMAP_MISFIT. False: out of
 * memory.
 */
bool port_pages_map(
	struct port_pages *store, uint16_t parent, const struct classify_range *ranges, uint32_t count, uint16_t *map);

/* True: a port of the map has PORTMAP_MISFIT. */
bool port_pages_misfit(const struct port_pages *store, uint16_t map);

/* The bytes that maps and pages take. */
size_t port_pages_memory(const struct port_pages *store);
