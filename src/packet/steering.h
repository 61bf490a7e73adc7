/* SPDX-License-Identifier: BSD-3-Clause */
/* The steering config: the keys of director.conf that decide what happens to a packet. All values are in host order. */
#ifndef GLB_PACKET_STEERING_H
#define GLB_PACKET_STEERING_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/admission.h"

/* Fields of the packet hash. They are concatenated in this order (docs/reference/steering.md#packet-hash). */
enum steering_field {
	STEERING_SOURCE_ADDRESS = 1 << 0,
	STEERING_DESTINATION_ADDRESS = 1 << 1,
	STEERING_SOURCE_PORT = 1 << 2,
	STEERING_DESTINATION_PORT = 1 << 3,
};

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

#endif
