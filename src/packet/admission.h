/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Admission: which frames the director takes from a port, by destination MAC, VLAN and source address
 * (docs/reference/steering.md#admission). A struct admission is part of the steering config and read-only. Pure,
 * thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/byteorder.h"
#include "packet/verdict.h"

#define ADMISSION_MAX_MACS 8 /* besides the port's own */
#define ADMISSION_VLANS    4096 /* ids; 0 stands for untagged frames */

enum admission_macs {
	ADMISSION_EVERY_FRAME, /* the destination MAC does not matter */
	ADMISSION_EVERY_UNICAST,
	ADMISSION_LISTED, /* the port's MAC and macs[] */
};

/* All zero: every frame is admitted, and frames are sent without a tag. */
struct admission {
	enum admission_macs accept;
	uint8_t mac_count;
	uint64_t macs[ADMISSION_MAX_MACS]; /* as admission_mac() returns them */
	bool check_vlans; /* false: all VLANs */
	bool drop_martians;
	uint16_t outbound_vlan; /* 0: frames are sent without a tag */
	uint64_t vlans[ADMISSION_VLANS / 64]; /* bit n: VLAN n is accepted */
};

#define ADMISSION_MAC_MASK 0xffffffffffff

/* The MAC at `mac` as a number, with its first byte lowest. Reads 8 bytes. */
static inline uint64_t admission_mac(const uint8_t *mac)
{
	return load_le64(mac) & ADMISSION_MAC_MASK;
}

/* Multicast or broadcast. */
static inline bool admission_mac_is_group(uint64_t mac)
{
	return mac & 1;
}

/* Returns whether a frame to this unicast MAC is for the director. port_mac: of the port that received the frame. */
static inline bool admission_accepts_mac(const struct admission *admission, uint64_t port_mac, uint64_t mac)
{
	bool accepted = mac == port_mac || admission->accept == ADMISSION_EVERY_UNICAST;

	for (uint8_t i = 0; i < admission->mac_count; i++)
		accepted |= mac == admission->macs[i];
	return accepted;
}

/* id: 0 stands for untagged frames. */
static inline bool admission_accepts_vlan(const struct admission *admission, uint16_t id)
{
	return !admission->check_vlans || admission->vlans[id / 64] >> id % 64 & 1;
}

static inline void admission_add_vlan(struct admission *admission, uint16_t id)
{
	admission->vlans[id / 64] |= 1ull << id % 64;
}

/* Returns whether frames with a tag can be forwarded. */
bool admission_accepts_tagged(const struct admission *admission);

/*
 * Checks the Ethernet header of a frame, of which `readable` bytes may be read. Returns one of these:
 *   VERDICT_FORWARDED: the frame is admitted, or so short that the parser refuses it.
 *   VERDICT_EXCEPTION: it is a multicast or broadcast frame. Such a frame is never forwarded.
 *   VERDICT_DROP_NOT_FOR_US, VERDICT_DROP_VLAN.
 */
enum verdict admission_check(
	const struct admission *admission, uint64_t port_mac, const uint8_t *frame, uint32_t readable);

/*
 * A source that no client can have: 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3, or the packet's own destination. Addresses as
 * loaded little-endian.
 */
static inline bool admission_is_martian_v4(uint32_t source, uint32_t destination)
{
	uint32_t first = source & 0xff;

	return (first == 0) | (first == 127) | (first >= 224) | (source == destination);
}

/*
 * The same for IPv6: ::/64, which has the unspecified, the loopback and all IPv4-mapped addresses, ff00::/8, or the
 * packet's own destination. An address consists of its first and its last 8 bytes.
 */
static inline bool admission_is_martian_v6(
	uint64_t source_first, uint64_t source_last, uint64_t destination_first, uint64_t destination_last)
{
	return (source_first == 0) | ((source_first & 0xff) == 0xff) |
	       ((source_first == destination_first) & (source_last == destination_last));
}
