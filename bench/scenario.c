/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/scenario.h"

#include "packet/steering.h"

#define WORLD(t, b, ...)                                                            \
	{                                                                           \
		.tables = (t), .binds = (b), .backends = 64, .hops = 2, __VA_ARGS__ \
	}
#define FEW(k)     WORLD(1, 16, .few = true, .kind = WORLD_##k)
#define GENERAL(k) WORLD(1, 16, .family = WORLD_GENERAL, .kind = WORLD_##k)

const struct scenario scenarios[] = {
	{.world = WORLD(1, 16, .family = WORLD_V4), .profiled = true},
	{.world = WORLD(1, 16, .family = WORLD_V4), .burst = 32},
	{.world = WORLD(1, 16, .family = WORLD_V4), .set = SCENARIO_L3, .profiled = true},
	{.world = WORLD(1, 16, .family = WORLD_V4), .set = SCENARIO_DRAM, .profiled = true},
	{.world = WORLD(1, 1, .family = WORLD_V4), .slow = true},
	{.world = WORLD(1, 256, .family = WORLD_V4), .slow = true},
	{.world = WORLD(16, 16, .family = WORLD_V4), .slow = true},
	{.world = WORLD(64, 16, .family = WORLD_V4), .profiled = true},
	{.world = WORLD(64, 256, .family = WORLD_V4), .slow = true},
	{.world = WORLD(1, 16, .family = WORLD_V6), .profiled = true},
	{.world = WORLD(64, 16, .family = WORLD_V6), .slow = true},
	{.world = WORLD(1, 16, .family = WORLD_MIXED)},

	/* The first scenario again shows how much two figures differ by chance. */
	{.what = "once more", .world = WORLD(1, 16)},
	{.what = "alternative hash",
		.world = WORLD(1, 16),
		.alt_hash_fields = STEERING_SOURCE_ADDRESS | STEERING_SOURCE_PORT},
	{.what = "4 hops", .world = {.tables = 1, .binds = 16, .backends = 64, .hops = 4}},
	{.what = "6 hops", .world = {.tables = 1, .binds = 16, .backends = 64, .hops = 6}},
	{.what = "8 hops", .world = {.tables = 1, .binds = 16, .backends = 64, .hops = 8}},
	{.what = "8 hops", .world = {.tables = 64, .binds = 16, .backends = 64, .hops = 8}, .slow = true},
	{.what = "IPv6 hops", .world = WORLD(1, 16, .ipv6_hops = true), .profiled = true},
	{.what = "IPv6 hops", .world = WORLD(1, 16, .ipv6_hops = true), .set = SCENARIO_L3},
	{.what = "IPv6 hops", .world = WORLD(1, 16, .family = WORLD_V6, .ipv6_hops = true)},
	{.what = "IPv6 hops", .world = {.tables = 1, .binds = 16, .backends = 64, .hops = 8, .ipv6_hops = true}},
	{.what = "UDP", .world = WORLD(1, 16, .data = WORLD_UDP)},
	{.what = "QUIC, several passes", .world = WORLD(1, 16, .data = WORLD_QUIC_PASSES)},
	{.what = "QUIC, one pass", .world = WORLD(1, 16, .data = WORLD_QUIC_ONE_PASS)},
	{.what = "QUIC without key", .world = WORLD(1, 16, .data = WORLD_QUIC_PLAIN)},
	{.what = "hash of four fields", .world = WORLD(1, 16), .hash_fields = 15},
	{.what = "prefixes", .world = WORLD(1, 16, .cut = 4)},
	{.what = "9 prefix lengths", .world = WORLD(1, 16, .lengths = 8)},
	{.what = "9 prefix lengths, shortest", .world = WORLD(1, 16, .lengths = 8, .cut = 9), .slow = true},
	{.what = "24 prefix lengths, shortest", .world = WORLD(1, 16, .lengths = 23, .cut = 24), .slow = true},
	{.what = "24 prefix lengths, shortest",
		.world = WORLD(1, 16, .family = WORLD_V6, .lengths = 23, .cut = 24),
		.slow = true},
	{.what = "1025 port maps", .world = WORLD(1, 16, .port_maps = 1023)},
	{.what = "rows of 1 hop", .world = {.tables = 1, .binds = 16, .backends = 64, .hops = 1}, .slow = true},
	{.what = "300 backends", .world = {.tables = 1, .binds = 16, .backends = 300, .hops = 2}, .slow = true},
	{.what = "65600 backends", .world = {.tables = 41, .binds = 16, .backends = 1600, .hops = 2}, .slow = true},
	{.what = "64 next hops", .world = WORLD(1, 16), .next_hops = 1},
	{.what = "ECMP of 4", .world = WORLD(1, 16), .next_hops = 4},
	{.what = "64 next hops", .world = WORLD(64, 16), .next_hops = 1, .slow = true},
	{.what = "outer UDP checksum", .world = WORLD(1, 16), .udp_checksum = true},
	{.what = "outer UDP checksum", .world = WORLD(1, 16, .family = WORLD_V6), .udp_checksum = true},
	{.what = "MTU 65535", .world = WORLD(1, 16), .mtu = UINT16_MAX},
	{.what = "all over the MTU", .world = WORLD(1, 16), .mtu = 60, .dropped = true},
	{.what = "too-big flood", .world = WORLD(1, 16), .mtu = 60, .dropped = true, .replies = true},
	{.what = "too-big flood", .world = WORLD(1, 16, .family = WORLD_V6), .mtu = 80, .dropped = true, .replies = true},
	{.what = "too-big replies", .world = WORLD(1, 16), .mtu = 60, .replies = true},
	{.what = "frames for other hosts", .world = WORLD(1, 16), .dropped = true, .other_hosts = true},

	{.what = "all kinds", .world = GENERAL(ALL_KINDS)},
	{.what = "IPv4 options", .world = GENERAL(OPTIONS)},
	{.what = "first fragments", .world = GENERAL(FIRST_FRAGMENT)},
	{.what = "later fragments", .world = GENERAL(LATER_FRAGMENT)},
	{.what = "ICMP errors", .world = GENERAL(ERROR)},
	{.what = "pings", .world = GENERAL(PING)},
	{.what = "tags", .world = GENERAL(TAGGED)},
	{.what = "8 extension headers", .world = GENERAL(EXTENSIONS)},
	{.what = "IPv6 first fragments", .world = GENERAL(V6_FRAGMENT)},
	{.what = "ICMPv6 errors", .world = GENERAL(V6_ERROR)},
	{.what = "pings with outer UDP checksum", .world = GENERAL(PING), .udp_checksum = true},
	{.what = "everything at once", .world = GENERAL(EVERYTHING), .profiled = true},
	{.what = "unmatched", .world = GENERAL(UNMATCHED), .dropped = true},
	{.what = "two segments", .world = GENERAL(ORDINARY), .shape = FRAMES_SEGMENTS},
	{.what = "shared mbufs", .world = GENERAL(ORDINARY), .shape = FRAMES_SHARED},
	{.what = "indirect mbufs", .world = GENERAL(ORDINARY), .shape = FRAMES_INDIRECT},
	{.what = "everything, in two segments", .world = GENERAL(EVERYTHING), .shape = FRAMES_SEGMENTS},

	{.what = "few IPv4 options", .world = FEW(OPTIONS), .slow = true},
	{.what = "few first fragments", .world = FEW(FIRST_FRAGMENT), .slow = true},
	{.what = "few tags", .world = FEW(TAGGED), .slow = true},
	{.what = "few with everything at once", .world = FEW(EVERYTHING), .slow = true},

	{.what = "half unmatched", .world = WORLD(1, 16, .half_unmatched = true), .set = SCENARIO_L3, .exception_path = true},

	{.what = "watched", .world = WORLD(1, 16), .watched = true},
	{.what = "watched", .world = WORLD(1, 16), .burst = 32, .watched = true, .slow = true},
	{.what = "watched", .world = WORLD(1, 16), .burst = 16, .watched = true, .slow = true},

	{.what = "no capture", .world = WORLD(1, 16), .captured = true},

	{.what = "two lcores", .world = WORLD(1, 16), .two_lcores = true},
	{.what = "two lcores", .world = WORLD(1, 16), .set = SCENARIO_L3, .two_lcores = true, .slow = true},
};

const unsigned scenario_count = sizeof(scenarios) / sizeof(*scenarios);

uint32_t scenario_frames(const struct scenario *scenario)
{
	return scenario->set == SCENARIO_L2 ? 1024 : 32768;
}

const char *scenario_set_name(const struct scenario *scenario)
{
	static const char *const names[] = {"l2", "l3", "dram"};

	return names[scenario->set];
}

const char *scenario_family_name(const struct scenario *scenario)
{
	/* Values of the JSON key "family", which users parse: WORLD_GENERAL stays "odd". */
	static const char *const names[] = {"v4", "v6", "mixed", "odd"};

	return names[scenario->world.family];
}
