/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Decides by the connection ID (CID) of a QUIC packet, which can name a server as draft-ietf-quic-load-balancers-21
 * defines it. The servers and the configurations are those of redirect.conf.
 *
 * AES-128 is that of the tables in `quic`. Linux 5.10 has no helper for it.
 */
#pragma once

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#include "bpf/cursor.bpf.h"
#include "bpf/ethernet.bpf.h"
#include "gue/gue_wire.h"
#include "redirect/bpf/address.bpf.h"
#include "redirect/kernel/quic_wire.h"
#include "redirect/redirect.h"

/* The loader sets it before it loads the program. Apart from the settings, as the offsets are. */
const volatile struct redirect_quic quic SEC(".rodata.quic") = {0};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, REDIRECT_QUIC_MAX_SERVERS);
	__type(key, union redirect_quic_server);
	__type(value, struct redirect_quic_address);
} quic_servers SEC(".maps");

#define QUIC_LONG_HEADER 0x80
#define QUIC_CID_AT      6 /* offset of the destination CID in a long header */
#define QUIC_MAX_CID     20 /* with the first octet, which has the ID of the configuration */

struct quic_scratch {
	__u32 at, end; /* the UDP payload in the frame */
	bool is_quoted; /* by an ICMP error */
	union {
		__u8 cid[QUIC_MAX_CID + 12]; /* halves are read as 12 bytes, also the second one */
		__u32 words[QUIC_MAX_CID / 4];
	};
	__u8 plaintext[32];
};

/*
 * What functions of one packet tell each other. The verifier allows an offset that is not a constant here, but not on
 * the stack.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct quic_scratch);
} quic_scratch SEC(".maps");

static __always_inline struct quic_scratch *quic_scratch_find(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&quic_scratch, &zero);
}

/* Keeps what quic_decide() needs. Returns false if no service with QUIC has the port. */
static __always_inline bool quic_ask(__u32 at, __u32 end, __be16 service, bool is_quoted)
{
	struct quic_scratch *scratch;
	__u32 port = bpf_ntohs(service);

	if (!(quic.ports[port / 8] >> port % 8 & 1))
		return false;
	scratch = quic_scratch_find();
	if (!scratch)
		return false;
	scratch->at = at;
	scratch->end = end;
	scratch->is_quoted = is_quoted;
	return true;
}

#define QUIC_ROUNDS 10

/*
 * Hides a value from the optimizer. Otherwise it computes the addresses of all look-ups of a round first, and keeps
 * them on the stack, of which all functions of a packet together have 512 bytes.
 */
#define QUIC_HIDE(value) asm volatile("" : "+r"(value))

/* The read-only data. */
static __always_inline const struct redirect_quic *quic_data(void)
{
	const struct redirect_quic *data = (const struct redirect_quic *)&quic;

	QUIC_HIDE(data);
	return data;
}

/* Adds the part of the byte in row `row` of a word to a column. Words are in 64 bits, which spares instructions. */
static __always_inline __u64 quic_cell(const __u32 tables[256][4], __u64 column, __u64 word, int row)
{
	const __u32 *entry;

	QUIC_HIDE(column);
	QUIC_HIDE(word);
	entry = tables[word >> 8 * row & 255];
	QUIC_HIDE(entry);
	return column ^ entry[row];
}

static __always_inline __u64 quic_column(const __u32 tables[256][4], __u64 a, __u64 b, __u64 c, __u64 d, __u32 key)
{
	return quic_cell(tables, quic_cell(tables, quic_cell(tables, quic_cell(tables, key, a, 0), b, 1), c, 2), d, 3);
}

/* A round of AES on the four columns. ShiftRows is the order of the columns. `encrypt` is a constant. */
static __always_inline void quic_round(const __u32 tables[256][4], const __u32 keys[4], __u64 columns[4], bool encrypt)
{
	__u64 a = columns[0], b = columns[1], c = columns[2], d = columns[3];

	columns[0] = quic_column(tables, a, encrypt ? b : d, c, encrypt ? d : b, keys[0]);
	columns[1] = quic_column(tables, b, encrypt ? c : a, d, encrypt ? a : c, keys[1]);
	columns[2] = quic_column(tables, c, encrypt ? d : b, a, encrypt ? b : d, keys[2]);
	columns[3] = quic_column(tables, d, encrypt ? a : c, b, encrypt ? c : a, keys[3]);
}

/* Encrypts or decrypts a block of AES-128. */
static __always_inline void quic_block(const struct redirect_quic_config *config, __u32 block[4], bool encrypt)
{
	const struct redirect_quic *data = quic_data();
	const struct redirect_quic_aes *aes = encrypt ? &data->encrypt : &data->decrypt;
	const __u32 *keys = config->keys;
	__u64 columns[4];

	for (int i = 0; i < 4; i++)
		columns[i] = block[i] ^ keys[i];
#pragma clang loop unroll(disable)
	for (int round = 1; round < QUIC_ROUNDS; round++) {
		QUIC_HIDE(keys);
		keys += 4;
		quic_round(aes->tables, keys, columns, encrypt);
	}
	quic_round(aes->last, keys + 4, columns, encrypt);
	for (int i = 0; i < 4; i++)
		block[i] = columns[i];
}

/* A pass changes the half `to` by the other one. Their unused bits are 0. */
static __always_inline void quic_pass(
	const struct redirect_quic_config *config, __u32 pass, __u32 to[3], const __u32 by[3])
{
	__u32 block[4] = {by[0], by[1], by[2], config->size << 16 | pass << 24};
	const __u32 *bits;

	QUIC_HIDE(config);
	bits = config->halves[pass & 1];
	quic_block(config, block, true);
	to[0] ^= block[0] & bits[0];
	to[1] ^= block[1] & bits[1];
	to[2] ^= block[2] & bits[2];
}

/* Returns 12 bytes at `from`, of which only `bits` belong to the half. */
static __always_inline void quic_half(const __u8 *from, const __u32 bits[3], __u32 half[3])
{
	const __u32 *words = (const __u32 *)from;

	for (int i = 0; i < 3; i++)
		half[i] = words[i] & bits[i];
}

static __always_inline void quic_four_passes(const struct redirect_quic_config *config, struct quic_scratch *scratch)
{
	__u32 left[3], right[3], middle = config->size / 2 & 15;
	__u32 *plaintext = (__u32 *)scratch->plaintext;
	bool all = config->passes == 4;

	quic_half(scratch->cid + 1, config->halves[0], left);
	quic_half(scratch->cid + 1 + middle, config->halves[1], right);
	/* In a loop over the passes, clang would jump into the middle of it, which Linux 5.10 refuses. */
	quic_pass(config, 4, left, right);
	quic_pass(config, 3, right, left);
	quic_pass(config, 2, left, right);
	if (all)
		quic_pass(config, 1, right, left);
	for (int i = 0; i < 3; i++)
		plaintext[i] = left[i];
	plaintext[3] = plaintext[4] = plaintext[5] = 0;
	if (!all)
		return;
	/* With an odd size, the halves share the byte in the middle. */
	plaintext = (__u32 *)(scratch->plaintext + middle);
	for (int i = 0; i < 3; i++)
		plaintext[i] |= right[i];
}

/* Copies the CID, of `size` bytes, and more if the packet has them. Returns false if the packet ends before. */
static __always_inline bool quic_copy(struct cursor *cursor, __u32 size, struct quic_scratch *scratch)
{
	const __u32 *words = cursor_peek(cursor, QUIC_MAX_CID);

	if (words) {
		for (int i = 0; i < QUIC_MAX_CID / 4; i++)
			scratch->words[i] = words[i];
		return true;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < QUIC_MAX_CID; i++) {
		__u8 *byte;

		if (i >= size)
			break;
		byte = cursor_take(cursor, 1);
		if (!byte)
			return false;
		scratch->cid[i] = *byte;
	}
	return true;
}

/*
 * Moves the cursor from the UDP payload to the CID, as quic/header.c. In a packet that an ICMP error quotes, that is
 * the source CID of a long header. Returns false if there is none.
 */
static __always_inline bool quic_find_cid(struct cursor *cursor, bool quoted)
{
	__u8 *first = cursor_take(cursor, 1), *length;
	__u32 size;

	if (!first)
		return false;
	if (!(*first & QUIC_LONG_HEADER))
		return !quoted;
	cursor->at += QUIC_CID_AT - 2;
	length = cursor_take(cursor, 1);
	if (!length)
		return false;
	size = *length;
	if (quoted) {
		if (!cursor_skip(cursor, size))
			return false;
		length = cursor_take(cursor, 1);
		if (!length)
			return false;
		size = *length;
	}
	return cursor_cut(cursor, size);
}

/* Returns the address of the server that the CID at the cursor names, or NULL. */
static __always_inline struct redirect_quic_address *quic_server(struct cursor *cursor, struct quic_scratch *scratch)
{
	__u8 *first = cursor_peek(cursor, 1);
	const struct redirect_quic_config *config;
	union redirect_quic_server server;
	__u32 id;

	if (!first)
		return NULL;
	id = *first >> 5;
	config = &quic_data()->configs[id & (REDIRECT_QUIC_CONFIGS - 1)];
	if (!config->size)
		return NULL;
	if (!quic_copy(cursor, 1 + config->size, scratch))
		return NULL;
	if (config->passes > 1) {
		quic_four_passes(config, scratch);
		__builtin_memcpy(server.words, scratch->plaintext, sizeof(server.words));
	} else {
		__builtin_memcpy(server.words, scratch->cid + 1, sizeof(server.words));
		if (config->passes)
			quic_block(config, server.words, false);
	}
	for (int i = 0; i < 4; i++)
		server.words[i] &= config->server_id[i];
	server.config = id;
	return bpf_map_lookup_elem(&quic_servers, &server);
}

enum {
	QUIC_UNDECIDED = -1, /* the CID names no server of this packet */
	/* Values >= 0 are the enum redirect_counter of the decision. */
};

#define QUIC_MAX_HOPS 30 /* in a GUE header */

/* Decides by the address of the server, which the outer header at `outer_at`, or a hop of the GUE header, may have. */
static __always_inline int quic_compare(
	struct xdp_md *context, __u32 outer_at, __u32 gue_at, const struct redirect_quic_address *server, bool ipv6)
{
	const __u32 size = ADDRESS_SIZE(ipv6);
	struct cursor cursor = cursor_of(context);
	struct gue_private *private_data;
	__u32 *address;
	void *gue;

	cursor.at = outer_at + (ipv6 ? offsetof(struct ipv6hdr, daddr) : offsetof(struct iphdr, daddr));
	address = cursor_peek(&cursor, size);
	if (!address)
		return QUIC_UNDECIDED;
	if (address_equal(address, server->words, ipv6))
		return REDIRECT_QUIC_KEPT;
	cursor.at = gue_at;
	gue = cursor_take(&cursor, GUE_BASE_SIZE);
	if (!gue)
		return QUIC_UNDECIDED;
	private_data = gue + sizeof(struct gue_header);
	cursor.at += size * private_data->next_hop;
#pragma clang loop unroll(disable)
	for (int i = private_data->next_hop; i < QUIC_MAX_HOPS; i++) {
		if (i >= private_data->hop_count)
			break;
		address = cursor_take(&cursor, size);
		if (!address)
			break;
		if (address_equal(address, server->words, ipv6))
			return REDIRECT_QUIC_PASSED_ON;
	}
	return QUIC_UNDECIDED;
}

/*
 * Decides about the packet of quic_ask(). `ipv6`: the family of its outer IP header, which begins at `outer_at`, as
 * the GUE header does at `gue_at`. Global, as decide_quote(). Its caller is the program itself, because the stack
 * would not suffice for more functions between them.
 */
__noinline int quic_decide(struct xdp_md *context, __u32 outer_at, __u32 gue_at, __u32 ipv6)
{
	struct quic_scratch *scratch = quic_scratch_find();
	struct redirect_quic_address *server;
	struct cursor cursor;

	if (!scratch)
		return QUIC_UNDECIDED;
	cursor = cursor_within(context, scratch->at, scratch->end);
	if (!quic_find_cid(&cursor, scratch->is_quoted))
		return QUIC_UNDECIDED;
	server = quic_server(&cursor, scratch);
	if (!server)
		return QUIC_UNDECIDED;
	if (!server->family)
		return REDIRECT_QUIC_KEPT;
	if (server->family != (ipv6 ? 6 : 4))
		return QUIC_UNDECIDED;
	if (ipv6)
		return quic_compare(context, outer_at, gue_at, server, true);
	return quic_compare(context, outer_at, gue_at, server, false);
}
