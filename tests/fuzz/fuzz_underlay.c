/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads any bytes as an ICMP error about the director's own packets. The parser must not read beyond them, and what it
 * accepts must be plausible. Half of the inputs get the fields that few random inputs have.
 */
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "packet/icmp/underlay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t own[16] = {192, 0, 2, 1}; /* of both families */

static void make_likely_ipv6(uint8_t *packet, size_t size)
{
	if (size < 96)
		return;
	packet[0] = packet[48] = 0x60;
	packet[6] = 58;
	packet[40] = 2;
	packet[44] = packet[45] = 0;
	packet[54] = 17;
	memcpy(packet + 24, own, 16);
	memcpy(packet + 56, own, 16);
	store_be16(packet + 90, 19523);
}

static void make_likely(uint8_t *packet, size_t size)
{
	if (size < 56)
		return;
	packet[0] = packet[28] = 0x45;
	packet[9] = 1;
	packet[20] = 3;
	packet[21] = 4;
	packet[37] = 17;
	memcpy(packet + 16, own, 4);
	memcpy(packet + 40, own, 4);
	store_be16(packet + 50, 19523);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct underlay_note note;
	struct netaddr own_address;
	bool ipv6;
	uint16_t outbound_mtu;
	uint8_t *packet;

	if (size < 2)
		return 0;
	ipv6 = data[0] & 2;
	own_address = netaddr_from_bytes(ipv6 ? NETADDR_V6 : NETADDR_V4, own);
	outbound_mtu = (uint16_t)(576 + data[1] % 2 * 924 + data[1] % 3 * 3800);
	packet = malloc(size - 2); /* exactly this size, so that ASan detects reads beyond it */
	if (size > 2)
		memcpy(packet, data + 2, size - 2);
	if (data[0] & 1)
		(ipv6 ? make_likely_ipv6 : make_likely)(packet, size - 2);
	if (underlay_parse(span_of(packet, size - 2), &own_address, outbound_mtu, &note) &&
		(note.mtu < (ipv6 ? 1280 : 68) || note.mtu >= outbound_mtu || note.backend.family != own_address.family))
		abort();
	free(packet);
	return 0;
}
