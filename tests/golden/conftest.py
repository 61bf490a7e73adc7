# SPDX-License-Identifier: BSD-3-Clause
import sys
from pathlib import Path

# The golden files need running programs. What starts them is in the folders of their tests.
TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / folder) for folder in ("announce", "cli", "healthcheck", "bpf", "bpf/metrics")]
