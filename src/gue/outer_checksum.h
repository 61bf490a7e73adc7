/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of the outer UDP header (docs/reference/gue.md#the-udp-checksum). Pure, thread-safe. */
#pragma once

#include <stdint.h>

/*
 * Fills the UDP checksum, which is 0, of a packet that encapsulate_write() or prebuilt_write() made. If the inner
 * packet is TCP or UDP with a checksum, only headers are read: the sum of a valid packet follows from its addresses and
 * lengths. So a packet that arrived corrupted gets a wrong checksum. ip: the outer IP header. readable: bytes from
 * there on that may be read. If all bytes are needed but fewer may be read, the checksum stays 0: none.
 */
void outer_checksum_write(uint8_t *ip, uint32_t readable);
