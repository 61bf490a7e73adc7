/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of nftables in this network namespace, as `nft -j list ruleset` prints them (libnftables-json(5)). The
 * functions recognise rules that only look at what every packet for a VIP has. Pure, except for ruleset_read().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/netaddr.h"

/*
 * Returns 0 and the array of objects, which the caller frees; NULL: there are no tables. Or returns -errno, and *tables
 * is the number of tables, or -1 if that is not known either. -ENOENT: nft is not installed.
 */
int ruleset_read(json_t **objects, int *tables);

/* Return the chain or the rule that an object in the array is, or NULL. */
const json_t *ruleset_chain(const json_t *object);
const json_t *ruleset_rule(const json_t *object);

/* Returns whether packets of this family pass the tables of this chain or rule. */
bool ruleset_has_family(const json_t *object, uint8_t family);

/* Returns whether the rule has an expression with this key, such as "drop", also inside of others. */
bool ruleset_uses(const json_t *rule, const char *key);

/* Returns whether the rule needs the state of the packet's connection, or changes addresses. */
bool ruleset_tracks(const json_t *rule);

/* Returns whether the rule drops or rejects packets that connection tracking calls invalid. */
bool ruleset_drops_invalid(const json_t *rule);

#define RULESET_MAX_PORTS 64

/* The packets of clients for a VIP: TCP and UDP from any source. */
struct ruleset_packets {
	struct netprefix vip;
	const char *interface; /* on which they arrive */
	/* To which they go; empty: not known. */
	uint16_t ports[RULESET_MAX_PORTS];
	size_t port_count;
};

enum ruleset_fit {
	RULESET_NEVER, /* the rule matches none of the packets */
	RULESET_SOMETIMES, /* it matches some of them, or what it matches is not known */
	RULESET_ALWAYS,
};

enum ruleset_fit ruleset_fits(const json_t *rule, const struct ruleset_packets *packets);

/* Returns whether the rule compares this field of a packet, such as "daddr". */
bool ruleset_compares(const json_t *rule, const char *field);
