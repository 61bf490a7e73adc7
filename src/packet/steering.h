/* SPDX-License-Identifier: BSD-3-Clause */
/* The steering config: the keys of director.conf that decide what happens to a packet. All values are in host order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/admission.h"

/* Fields of the packet hash: symbol, name in director.conf and replies. They are concatenated in this order
 * (docs/reference/steering.md#packet-hash). */
#define STEERING_FIELDS(X)                 \
	X(SOURCE_ADDRESS, "src_addr")      \
	X(DESTINATION_ADDRESS, "dst_addr") \
	X(SOURCE_PORT, "src_port")         \
	X(DESTINATION_PORT, "dst_port")

enum {
#define X(symbol, name) STEERING_BIT_##symbol,
	STEERING_FIELDS(X)
#undef X
		STEERING_FIELD_COUNT
};

enum steering_field {
#define X(symbol, name) STEERING_##symbol = 1 << STEERING_BIT_##symbol,
	STEERING_FIELDS(X)
#undef X
};

/* The names, by bit. */
extern const char *const steering_field_names[STEERING_FIELD_COUNT];

#define STEERING_PORTS (STEERING_SOURCE_PORT | STEERING_DESTINATION_PORT)

struct steering_config {
	uint8_t hash_fields; /* enum steering_field, OR-ed; never 0 */
	uint8_t alt_hash_fields; /* the same; 0: packets get no hops of a second row */
	bool forward_ping;
	bool exception_path; /* unmatched packets go to the exception path, else they are dropped */
	bool send_too_big;
	bool reply_without_df; /* IPv4 packets without DF get too-big replies, too */
	bool udp_checksum; /* fill the outer UDP checksum, which is 0 otherwise */
	uint16_t outbound_mtu; /* the largest total length of an outer IPv4 packet */
	struct admission admission;
};
