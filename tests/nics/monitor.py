# SPDX-License-Identifier: BSD-3-Clause
"""qemu's monitor, seen from inside of the virtual machine: script/nics connects it to a serial port."""

import contextlib
import json

PORT = "/dev/virtio-ports/monitor"


class Monitor:
    """Sends commands of QMP, and waits for their results."""

    def __init__(self):
        self._port = open(PORT, "r+b", buffering=0)  # pylint: disable=consider-using-with
        with contextlib.suppress(RuntimeError):  # other tests have opened it already
            self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self._port.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self._line())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def _line(self):
        line = b""
        while not line.endswith(b"\n"):
            line += self._port.read(1)
        return line

    def set_link(self, name, up):
        self.ask("set_link", name=name, up=up)

    def unplug(self, name):
        self.ask("device_del", id=name)

    def plug(self, card):
        """Returns whether the card is there. It is not if its slot still has the one before."""
        device = f"{card.model},id={card.qdev},netdev=card-{card.number},bus=slot-{card.number},mac={card.pf_mac}"
        return not self.ask("human-monitor-command", **{"command-line": f"device_add {device}"})
