# SPDX-License-Identifier: BSD-3-Clause
"""The source tree, and the programs that were built from it. GLB_BUILD names the build folder, build/ by default."""

from lab.tools import BUILD, PROGRAMS, TREE  # noqa: F401

CLI, DIRECTOR, HEALTHCHECK, REDIRECT, BIFURCATE, ANNOUNCE, FLEET, BIFURCATE_OBJECT = (
    BUILD / PROGRAMS[name]
    for name in ("glb-director-cli", "glb-director", "glb-healthcheck", "glb-redirect", "glb-bifurcate", "glb-announce", "glb-fleet", "bifurcate.bpf.o")
)
REDIRECT_OBJECT = BUILD / "src/redirect/redirect.bpf.o"
