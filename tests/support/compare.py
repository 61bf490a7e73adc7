# SPDX-License-Identifier: BSD-3-Clause
"""Compares the frames and counters of the director with the model."""

import collections
import functools
import json

from model import Director
from support.director_process import VERDICTS, run_capture


def count(found):
    return {**dict.fromkeys(VERDICTS, 0), **collections.Counter(found)}


def assert_same_frames(sent, received, expected):
    """Checks that `sent` are the frames of `expected` (None: nothing is sent), where `expected` has one item per received frame.

    IPv6 frames must be in order, and all other frames too. Between these two groups the order is free.
    """
    queues = [
        [out for frame, out in zip(received, expected) if out and (frame[12:14] == b"\x86\xdd") == is_v6] for is_v6 in (False, True)
    ]
    places = {0}  # all possible numbers of frames that have left the first queue
    for number, frame in enumerate(sent):
        places = {at + 1 for at in places if queues[0][at : at + 1] == [frame]} | {
            at for at in places if queues[1][number - at : number - at + 1] == [frame]
        }
        assert places, f"frame {number} of the output is not expected here: {frame.hex()}"
    assert len(sent) == len(queues[0]) + len(queues[1])


@functools.lru_cache(2)
def _model_results(config, document, mac, frames):
    model = Director(json.loads(config), json.loads(document), port_mac=mac)
    return [model.process(frame)[:2] for frame in frames]


def compare_with_model(tmp_path, frames, config, document, table, **options):
    sent, counters, mac = run_capture(tmp_path, frames, config, table, **options)
    # Tests run the same frames with each ISA.
    verdicts, out = zip(*_model_results(json.dumps(config), json.dumps(document), mac, tuple(frames)))
    assert_same_frames(sent, frames, out)
    assert counters == count(verdicts)
    return counters
