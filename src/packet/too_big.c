/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/too_big.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/checksum.h"
#include "common/netaddr.h"

enum {
	IPV4_SIZE = 20,
	IPV6_SIZE = 40,
	ICMP_SIZE = 8,
	IPV4_MIN_MTU = 576, /* also the largest reply: RFC 1812 section 4.3.2.3 */
	IPV6_MIN_MTU = 1280, /* also the largest reply: RFC 4443 section 3.2 */
};

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static void write_ethernet(uint8_t *to, const struct encapsulate_outer *outer, uint16_t type)
{
	memcpy(to, outer->destination_mac, 6);
	memcpy(to + 6, outer->source_mac, 6);
	store_be16(to + 12, type);
}

/* Fills the ICMP header. pseudo: the running checksum of the pseudo header, 0 if there is none. */
static void write_icmp(uint8_t *icmp, uint8_t type, uint8_t code, uint32_t mtu, uint32_t quoted, uint32_t pseudo)
{
	icmp[0] = type;
	icmp[1] = code;
	store_be16(icmp + 2, 0);
	store_be32(icmp + 4, mtu);
	store_be16(icmp + 2, checksum_finish(checksum_add(pseudo, icmp, ICMP_SIZE + quoted)));
}

static uint8_t *write_v4(
	uint8_t *quote, uint32_t readable, const struct encapsulate_outer *outer, uint32_t mtu, uint32_t *size)
{
	uint32_t quoted = at_most(readable, IPV4_MIN_MTU - IPV4_SIZE - ICMP_SIZE);
	uint8_t *icmp = quote - ICMP_SIZE, *ip = icmp - IPV4_SIZE;

	write_icmp(icmp, 3, 4, mtu < IPV4_MIN_MTU ? IPV4_MIN_MTU : mtu, quoted, 0);
	memset(ip, 0, IPV4_SIZE);
	ip[0] = 0x45;
	store_be16(ip + 2, (uint16_t)(IPV4_SIZE + ICMP_SIZE + quoted));
	store_be16(ip + 6, 0x4000); /* DF */
	ip[8] = 64;
	ip[9] = 1;
	memcpy(ip + 12, quote + 16, 4);
	memcpy(ip + 16, quote + 12, 4);
	store_be16(ip + 10, checksum_finish(checksum_add(0, ip, IPV4_SIZE)));
	write_ethernet(ip - ENCAPSULATE_ETHERNET_SIZE, outer, 0x0800);
	*size = ENCAPSULATE_ETHERNET_SIZE + IPV4_SIZE + ICMP_SIZE + quoted;
	return ip - ENCAPSULATE_ETHERNET_SIZE;
}

static uint8_t *write_v6(
	uint8_t *quote, uint32_t readable, const struct encapsulate_outer *outer, uint32_t mtu, uint32_t *size)
{
	uint32_t quoted = at_most(readable, IPV6_MIN_MTU - IPV6_SIZE - ICMP_SIZE);
	uint8_t *icmp = quote - ICMP_SIZE, *ip = icmp - IPV6_SIZE;
	uint32_t pseudo;

	memset(ip, 0, 8);
	ip[0] = 0x60;
	store_be16(ip + 4, (uint16_t)(ICMP_SIZE + quoted));
	ip[6] = 58;
	ip[7] = 64;
	memcpy(ip + 8, quote + 24, 16);
	memcpy(ip + 24, quote + 8, 16);
	pseudo = checksum_add(ICMP_SIZE + quoted + 58, ip + 8, 32);
	write_icmp(icmp, 2, 0, mtu < IPV6_MIN_MTU ? IPV6_MIN_MTU : mtu, quoted, pseudo);
	write_ethernet(ip - ENCAPSULATE_ETHERNET_SIZE, outer, 0x86dd);
	*size = ENCAPSULATE_ETHERNET_SIZE + IPV6_SIZE + ICMP_SIZE + quoted;
	return ip - ENCAPSULATE_ETHERNET_SIZE;
}

uint8_t *too_big_write(uint8_t *ip, uint32_t readable, uint8_t family, const struct encapsulate_outer *outer,
	uint32_t mtu, uint32_t *size)
{
	return family == NETADDR_V4 ? write_v4(ip, readable, outer, mtu, size) : write_v6(ip, readable, outer, mtu, size);
}
