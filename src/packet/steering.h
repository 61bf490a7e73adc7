/* SPDX-License-Identifier: BSD-3-Clause */
/* How packets are steered: the part of director.conf that the packet code sees. Plain values, host order. */
#ifndef GLB_PACKET_STEERING_H
#define GLB_PACKET_STEERING_H

#include <stdbool.h>
#include <stdint.h>

/* Fields of the packet hash, concatenated in this order (docs/reference/steering.md#packet-hash). */
enum steering_field {
	STEERING_SOURCE_ADDRESS = 1 << 0,
	STEERING_DESTINATION_ADDRESS = 1 << 1,
	STEERING_SOURCE_PORT = 1 << 2,
	STEERING_DESTINATION_PORT = 1 << 3,
};

#define STEERING_PORTS (STEERING_SOURCE_PORT | STEERING_DESTINATION_PORT)

struct steering_config {
	uint8_t hash_fields; /* enum steering_field, or-ed; at least one */
	uint8_t alt_hash_fields; /* 0: no second lookup */
	bool forward_ping;
	bool exception_path; /* unmatched packets have somewhere to go */
	bool send_too_big;
	uint16_t outbound_mtu; /* bounds the outer IPv4 total length */
};

#endif
