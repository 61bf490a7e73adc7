# SPDX-License-Identifier: BSD-3-Clause
"""glb-announce with FRR. announced.py has the story."""

from lab.scenarios.routes.announced import run  # noqa: F401

SUMMARY = "glb-announce and FRR: directors are withdrawn, stopped, and get a dead table; then each one fails in another way"
SHAPE = {"directors": 3, "announce": "frr"}
