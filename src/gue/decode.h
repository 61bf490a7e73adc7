/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes a GUE packet with the checks that a proxy makes, or says what is wrong with it. Pure, thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "gue/gue_wire.h"

/* Enum member, name, meaning. docs/reference/gue.md has the same texts. */
#define DECODE_STATUS_LIST(X)                                                                                \
	X(DECODE_OK, "ok", "a well-formed GUE packet")                                                       \
	X(DECODE_NOT_GUE, "not_gue", "not an unfragmented UDP packet to the GUE port")                       \
	X(DECODE_TRUNCATED, "truncated", "ends inside a header")                                             \
	X(DECODE_BAD_VERSION, "bad_version", "GUE version is not 0")                                         \
	X(DECODE_CONTROL, "control", "a GUE control message")                                                \
	X(DECODE_BAD_FLAGS, "bad_flags", "GUE flags are not 0")                                              \
	X(DECODE_BAD_PROTOCOL, "bad_protocol", "inner protocol is neither 4 nor 41")                         \
	X(DECODE_BAD_LENGTH, "bad_length", "header length exceeds the packet or does not fit the hop count") \
	X(DECODE_BAD_TYPE, "bad_type", "private data type is not that of the outer header")                  \
	X(DECODE_BAD_INDEX, "bad_index", "next hop index exceeds the hop count")

enum decode_status {
#define X(symbol, name, meaning) symbol,
	DECODE_STATUS_LIST(X)
#undef X
};

enum decode_checksum {
	DECODE_CHECKSUM_NONE,
	DECODE_CHECKSUM_RIGHT,
	DECODE_CHECKSUM_WRONG,
};

struct decode_packet {
	struct netaddr source, destination; /* of the outer header */
	uint8_t ttl; /* or the hop limit */
	uint16_t source_port; /* host order */
	enum decode_checksum udp_checksum;
	uint8_t inner_protocol;
	uint8_t next_hop; /* index in hops, or hop_count if no hop is left */
	uint8_t hop_count;
	struct netaddr hops[GUE_MAX_LATER_HOPS];
	const uint8_t *inner; /* points into the frame */
	uint32_t inner_size;
};

/* frame: from its Ethernet header on. port: of GUE, host order. *packet is complete only with DECODE_OK. */
enum decode_status decode_frame(const uint8_t *frame, size_t size, uint16_t port, struct decode_packet *packet);

const char *decode_status_name(enum decode_status status);
