# SPDX-License-Identifier: BSD-3-Clause
"""Frames of 9000 bytes: the director forwards them in several buffers, and so does glb-redirect in native mode."""

import random

from lab.clients import Dialogue
from lab.packet import gue_at, read_pcap
from lab.stage import Capture
from lab.tools import LabError
from lab.topology import CLIENTS4, CLIENTS6, ECHO_PORT, JUMBO_MTU, VIP4, VIP6

SUMMARY = "an MTU of 9000 everywhere: full frames pass directors and proxies, also by the second chance"
SHAPE = {"jumbo": True}
PORT, UPLOAD_BYTES, UPLOAD_S = 15000, 1_000_000, 0.5
FULL = 14 + JUMBO_MTU  # bytes of a frame
PROTOCOL_AT, NEXT_HOP_AT = 1, 6  # in GUE
FAMILIES = {4: "IPv4", 41: "IPv6"}


def upload(stage, dialogue, text):
    """Sends random data to the echo service, which answers with its SHA-256."""
    failed = None
    try:
        dialogue.upload(random.Random(PORT).randbytes(UPLOAD_BYTES), UPLOAD_S)
    except (LabError, OSError) as error:
        failed = str(error)
    stage.transfer(f"{text}: the service receives what the client sent", failed)
    stage.say(f"{text}: {UPLOAD_BYTES} bytes, the service has {'other data' if failed else 'the same SHA-256'}")


def check_programs(stage):
    for name, proxy in stage.fleet.proxies.items():
        status = proxy.redirect_status()
        seen = {key: status[key] for key in ("mode", "frags")}
        stage.expect(f"{name} runs glb-redirect in native mode, with fragments", seen == {"mode": "native", "frags": True}, seen)


def full_frames(proxies):
    """How many of the captured GUE frames have the size of the MTU, on all links of proxies."""
    found = {f"{family} {way}": 0 for family in FAMILIES.values() for way in ("first hop", "second chance")}
    for proxy in proxies:
        for frame in read_pcap(Capture.path(proxy.link.device)):
            if len(frame) == FULL:
                gue = frame[gue_at(frame):]
                found[f"{FAMILIES[gue[PROTOCOL_AT]]} {'second chance' if gue[NEXT_HOP_AT] else 'first hop'}"] += 1
    return found


def run(stage):
    fleet = stage.fleet
    check_programs(stage)
    stage.start_load()
    stage.start_capture()
    for vip, client in ((VIP4, CLIENTS4[0]), (VIP6, CLIENTS6[0])):
        family = "IPv6" if ":" in vip else "IPv4"
        dialogue = Dialogue(fleet.client, client, PORT, vip, ECHO_PORT)
        owner = dialogue.ask("whose")
        upload(stage, dialogue, f"{family}, first hop")
        fleet.change(owner, state="draining")
        upload(stage, dialogue, f"{family}, second chance")
        fleet.change(owner, state="active")
        dialogue.close()
    stage.settle()
    stage.finish()
    frames = full_frames(fleet.proxies.values())
    split = sum(director.stats()["slow_path"] for director in fleet.running())
    stage.expect("full frames pass on each way", all(frames.values()), frames)
    stage.expect("directors receive frames in several buffers", split > 0)
    stage.note("full_frames", frames)
    stage.note("in_several_buffers", split)
    stage.say(f"frames of {FULL} bytes: " + ", ".join(f"{name} {count}" for name, count in frames.items()))
