# SPDX-License-Identifier: BSD-3-Clause
"""The keys of director.conf that decide the verdict and the bytes of a packet."""

import ipaddress
from dataclasses import dataclass

FIELDS = ("src_addr", "dst_addr", "src_port", "dst_port")  # in the order in which they are hashed
# Keys without influence on verdicts and bytes.
PLUMBING = {"rx_drop_en", "num_worker_queues", "idle", "flow_paths", "lcores", "max_shrink", "stop_delay_ms", "rx_descriptors",
            "tx_descriptors", "mbufs", "rss_fields"}


def _chosen(fields):
    return tuple(name for name in FIELDS if fields.get(name, False))


def uses_ports(fields):
    return "src_port" in fields or "dst_port" in fields


@dataclass(frozen=True)
class Config:
    outbound_gateway_mac: bytes  # None for "auto"
    outbound_src_ip: bytes = None
    outbound_src_ip6: bytes = None
    hash_fields: tuple = ("src_addr",)
    alt_hash_fields: tuple = ()
    forward_icmp_ping_responses: bool = True
    outbound_mtu: int = 1500
    outbound_udp_checksum: bool = False
    send_icmp_too_big: bool = False
    send_icmp_too_big_without_df: bool = False
    exception_path: str = "none"
    # If a key is missing, the model does not check what it is about. The director's defaults are in director-conf.md.
    accept_macs: object = None  # "any", or a tuple of MACs besides the port's
    accept_vlans: object = "any"  # or a tuple of ids, in which 0 stands for untagged frames
    outbound_vlan: int = 0  # 0: untagged
    drop_martians: bool = False

    @classmethod
    def from_dict(cls, conf):
        values = {key: value for key, value in conf.items() if key not in PLUMBING}
        mac = values["outbound_gateway_mac"]
        values["outbound_gateway_mac"] = None if mac == "auto" else mac_bytes(mac)
        for key in ("outbound_src_ip", "outbound_src_ip6"):
            if key in values:
                values[key] = ipaddress.ip_address(values[key]).packed
        for key in ("hash_fields", "alt_hash_fields"):
            if key in values:
                values[key] = _chosen(values[key])
        if isinstance(values.get("accept_macs"), list):
            values["accept_macs"] = tuple(mac_bytes(mac) for mac in values["accept_macs"])
        if values.get("accept_vlans") == "untagged":
            values["accept_vlans"] = (0,)
        if values.get("outbound_vlan") == "untagged":
            values["outbound_vlan"] = 0
        return cls(**values)

    def source(self, size):
        """The director's address of `size` bytes."""
        return {4: self.outbound_src_ip, 16: self.outbound_src_ip6}[size]


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))
