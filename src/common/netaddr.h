/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4 and IPv6 addresses and prefixes as values. Bytes are in network order. Pure, thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum netaddr_family {
	NETADDR_NONE = 0,
	NETADDR_V4 = 1, /* binary forwarding tables have these values */
	NETADDR_V6 = 2,
};

struct netaddr {
	uint8_t family; /* enum netaddr_family */
	uint8_t bytes[16]; /* 4 or 16 are used, the rest is zero */
};

struct netprefix {
	struct netaddr addr; /* its bits after the prefix are zero */
	uint8_t length; /* bits, 0..32 or 0..128 */
};

#define NETADDR_TEXT_MAX   46 /* INET6_ADDRSTRLEN */
#define NETPREFIX_TEXT_MAX (NETADDR_TEXT_MAX + 4)

/* Size of an address in bytes and in bits; 0 for NETADDR_NONE. */
unsigned netaddr_size(const struct netaddr *addr);
unsigned netaddr_bits(const struct netaddr *addr);

struct netaddr netaddr_from_bytes(enum netaddr_family family, const void *bytes);

/* Reads a strict dotted quad, or RFC 4291 text without a zone. False: the text is neither, and *addr is unchanged. */
bool netaddr_parse(const char *text, struct netaddr *addr);

/* Writes RFC 5952 text to buf, and returns buf. */
const char *netaddr_format(const struct netaddr *addr, char buf[NETADDR_TEXT_MAX]);

/* False: no other host can reach the address ("this network", loopback, multicast, reserved, broadcast; RFC 6890). */
bool netaddr_is_unicast(const struct netaddr *addr);

/* True: 0.0.0.0 or ::, which getsockname() returns if a host has no address of the family. */
bool netaddr_is_unspecified(const struct netaddr *addr);

/* False for IPv4 addresses. A mapped address is an IPv4 address in IPv6 text, such as ::ffff:192.0.2.1. */
bool netaddr_is_link_local(const struct netaddr *addr);
bool netaddr_is_mapped(const struct netaddr *addr);

/* Returns whether a host can have the address, and routers forward packets to it. */
bool netaddr_is_host(const struct netaddr *addr);

/* Orders by family, then bytes: <0, 0, >0. */
int netaddr_compare(const struct netaddr *a, const struct netaddr *b);

/* Orders by address, then length, so that all prefixes inside a prefix follow it. For qsort(). */
int netprefix_compare(const void *a, const void *b);

/*
 * Reads "ADDRESS" (a host) or "ADDRESS/LENGTH", and clears the bits after the prefix. *host_bits: some of them were
 * set. host_bits may be NULL.
 */
bool netprefix_parse(const char *text, struct netprefix *prefix, bool *host_bits);

/* Writes "ADDRESS/LENGTH", or "ADDRESS" for a host, to buf, and returns buf. */
const char *netprefix_format(const struct netprefix *prefix, char buf[NETPREFIX_TEXT_MAX]);

/* Clears all bits of bytes[0..size) from bit `length` on. */
void netprefix_mask(uint8_t *bytes, unsigned size, unsigned length);

/* False if the families differ. */
bool netprefix_covers(const struct netprefix *prefix, const struct netaddr *addr);

/* Returns whether the prefix is one of these. */
bool netprefix_is_in(const struct netprefix *prefixes, size_t count, const struct netprefix *prefix);
