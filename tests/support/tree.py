# SPDX-License-Identifier: BSD-3-Clause
"""Where the source tree is, and the programs that were built from it."""

import os
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GLB_BUILD", TREE / "build")).resolve()
DIRECTOR = BUILD / "src/director/glb-director"
CLI = BUILD / "src/cli/glb-director-cli"
