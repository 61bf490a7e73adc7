# SPDX-License-Identifier: BSD-3-Clause
"""Which packet that the director sent is which packet that it received."""

from lab.packet import inner_of, packet_for


def split(frames, vips):
    """([(Packet, its bytes)] received for the VIPs, [GUE frame] sent); ValueError for a frame that is neither."""
    received, sent = [], []
    for frame in frames:
        packet = packet_for(frame, vips)
        if packet:
            received.append((packet, frame[14 : 14 + packet.size]))
        elif inner_of(frame):
            sent.append(frame)
        else:
            raise ValueError(f"neither for a VIP nor GUE: {frame.hex()}")
    return received, sent


def pair(received, sent):
    """For each frame sent, (Packet received, whether it is inside unchanged). As many must be sent as were received.

    By content, not by position: packets that two CPUs of the router send at the same time may be captured in another order
    than they reach the director. What is inside no frame is paired with the frames that hold none of them, in order.
    """
    waiting = {}
    for packet, data in received:
        waiting.setdefault(data, []).append(packet)
    same = [waiting[inner].pop(0) if waiting.get(inner) else None for inner in map(inner_of, sent)]
    rest = [packet for packets in waiting.values() for packet in packets]
    return [(packet, True) if packet else (rest.pop(0), False) for packet in same]
