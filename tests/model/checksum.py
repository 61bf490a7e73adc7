# SPDX-License-Identifier: BSD-3-Clause
"""The checksum of the outer UDP header (docs/reference/gue.md#the-udp-checksum)."""

import struct

TCP, UDP = 6, 17
IS_FRAGMENT = 0x3FFF  # "more fragments", or an offset
PLACE = {TCP: 16, UDP: 6}  # of the checksum in the header
SHORTEST = {TCP: 20, UDP: 8}


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    words = struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def pseudo_header(src, dst, protocol, length):
    return src + dst + struct.pack(">II", length, protocol)


def _replace(data, at, word):
    return data[:at] + struct.pack(">H", word) + data[at + 2 :]


def _transport(family, packet):
    """Returns (offset, protocol) of a whole TCP segment or UDP datagram with a checksum, or None."""
    if family == 4:
        offset, protocol = 4 * (packet[0] & 15), packet[9]
        if struct.unpack_from(">H", packet, 6)[0] & IS_FRAGMENT:
            return None
    else:
        offset, protocol = 40, packet[6]
    size = len(packet) - offset
    if protocol not in PLACE or size < SHORTEST[protocol]:
        return None
    if protocol == UDP:
        length, sum_ = struct.unpack_from(">HH", packet, offset + 4)
        if length != size or not sum_:
            return None
    return offset, protocol


def with_right_checksums(family, packet):
    """The packet as it was before it was corrupted, as far as its checksums tell. Other packets stay as they are."""
    found = _transport(family, packet)
    if not found:
        return packet
    offset, protocol = found
    header, payload = packet[:offset], _replace(packet[offset:], PLACE[protocol], 0)
    src, dst = (header[12:16], header[16:20]) if family == 4 else (header[8:24], header[24:40])
    payload = _replace(payload, PLACE[protocol], checksum(pseudo_header(src, dst, protocol, len(payload)) + payload))
    if family == 4:
        header = _replace(header, 10, checksum(_replace(header, 10, 0)))
    return header + payload


def outer_checksum(family, inner, src, dst, headers):
    """The checksum field of the outer UDP header. headers: outer UDP, in which it is 0, and GUE."""
    datagram = headers + with_right_checksums(family, inner)
    return checksum(pseudo_header(src, dst, UDP, len(datagram)) + datagram) or 0xFFFF
