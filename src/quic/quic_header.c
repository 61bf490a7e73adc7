/* SPDX-License-Identifier: BSD-3-Clause */
#include "quic/quic.h"

/* RFC 8999, section 5: flags, version, and then CIDs with their lengths. */
#define LONG_HEADER  0x80
#define FIRST_LENGTH 5

/* Reads a CID whose length is at `at`. Returns where the next length is; or 0: the datagram ends before. */
static uint32_t read_cid(const uint8_t *payload, uint32_t size, uint32_t at, struct quic_dcid *cid)
{
	if (at >= size || payload[at] > size - at - 1)
		return 0;
	*cid = (struct quic_dcid){.bytes = payload + at + 1, .size = payload[at], .long_header = true};
	return at + 1 + payload[at];
}

bool quic_find_dcid(const uint8_t *payload, uint32_t size, struct quic_dcid *dcid)
{
	if (size == 0)
		return false;
	if (payload[0] & LONG_HEADER)
		return read_cid(payload, size, FIRST_LENGTH, dcid) && dcid->size > 0;
	*dcid = (struct quic_dcid){.bytes = payload + 1, .size = size - 1};
	return dcid->size > 0;
}

bool quic_find_quoted_scid(const uint8_t *payload, uint32_t size, struct quic_dcid *scid)
{
	uint32_t next;

	if (size == 0 || !(payload[0] & LONG_HEADER))
		return false;
	next = read_cid(payload, size, FIRST_LENGTH, scid);
	return next && read_cid(payload, size, next, scid) && scid->size > 0;
}
