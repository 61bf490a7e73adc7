# SPDX-License-Identifier: BSD-3-Clause
"""Lets a test that is written with IPv4 addresses of proxies and routers run with IPv6 addresses, too."""

import ipaddress
import re

FAMILIES = ("IPv4", "IPv6")
V4 = re.compile(r"(?<![\d.:])(\d+)\.(\d+)\.(\d+)\.(\d+)(/\d+)?")
V6 = re.compile(r"fd00:[0-9a-f:]+(?<!:)")


def to_ipv6(text):
    """192.168.50.10 becomes fd00:c0:a8:32::a, and 192.168.50.0/24 becomes fd00:c0:a8:32::/64."""
    def replace(match):
        a, b, c, d = (int(part) for part in match.groups()[:4])
        length = match[5]
        if length:
            bits = int(length[1:])
            length = f"/{128 - (32 - bits) if bits > 24 else 16 + 2 * bits}"
        address = ipaddress.ip_address(f"fd00:{a:x}:{b:x}:{c:x}::{d:x}")
        return str(address) + (length or "")

    return V4.sub(replace, text)


def to_ipv4(value):
    """The same back, in all texts of a JSON value."""
    def replace(match):
        words = ipaddress.ip_address(match[0]).packed
        return ".".join(str(int.from_bytes(words[at:at + 2])) for at in (2, 4, 6, 14))

    if isinstance(value, str):
        return V6.sub(replace, value)
    if isinstance(value, list):
        return [to_ipv4(item) for item in value]
    if isinstance(value, dict):
        return {to_ipv4(key): to_ipv4(item) for key, item in value.items()}
    return value


class Underlay:
    """Translates what a test says to addresses of its family, and what it reads back to IPv4."""

    def __init__(self, family):
        self.is_ipv6 = family == "IPv6"

    def write(self, text):
        return to_ipv6(text) if self.is_ipv6 else text

    def read(self, value):
        return to_ipv4(value) if self.is_ipv6 else value

    def document(self, tables):
        """Tables with backends of this family."""
        for table in tables["tables"]:
            table["backends"] = [{**item, "ip": self.write(item["ip"])} for item in table["backends"]]
        return tables

    def config(self, keys):
        """director.conf with the source address of this family."""
        if not self.is_ipv6:
            return keys
        other = {key: value for key, value in keys.items() if key != "outbound_src_ip"}
        return {**other, "outbound_src_ip6": self.write(keys["outbound_src_ip"])}

    def ip(self, namespace, words):
        """Runs `ip` with these words in the namespace, which may name IPv4 addresses."""
        family = ["-6"] if self.is_ipv6 and words.split()[0] in ("route", "rule") else []
        return namespace.run("ip", *family, *self.write(words).split())
