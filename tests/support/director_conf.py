# SPDX-License-Identifier: BSD-3-Clause
"""Writes director.conf from Python values."""

import json
from pathlib import Path

CONFIG = {"outbound_gateway_mac": "02:00:00:00:00:fe", "outbound_src_ip": "192.0.2.1"}

# Every unicast frame is taken, like in a model whose configuration has none of these keys.
OPEN = {"accept_macs": "any", "accept_vlans": "any", "outbound_vlan": "untagged", "drop_martians": False}

# The director's defaults, for the model.
DEFAULTS = {"accept_macs": [], "accept_vlans": "untagged", "drop_martians": True}


def libconfig(value):
    """A value in libconfig's syntax. Lists of dicts become lists, other lists become arrays."""
    if isinstance(value, dict):
        return "{ " + " ".join(f"{key} = {libconfig(item)};" for key, item in value.items()) + " }"
    if isinstance(value, list):
        items = ", ".join(libconfig(item) for item in value)
        return f"( {items} )" if value and isinstance(value[0], dict) else f"[ {items} ]"
    return json.dumps(value)


def write_config(path, config):
    text = "".join(f"{key} = {libconfig(value)};\n" for key, value in config.items())
    Path(path).write_text(text, encoding="ascii")
    return path
