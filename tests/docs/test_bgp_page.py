# SPDX-License-Identifier: BSD-3-Clause
"""docs/howto/bgp.md shows the configurations with which the lab runs BIRD and FRR."""

import pytest

from lab.routing import bird, frr
from lab.topology import Shape
from support.pages import marked

LINK = Shape().director_link(1)


@pytest.mark.parametrize("conf", [
    bird.director_conf(LINK), frr.director_conf(LINK), bird.router_conf([LINK]), frr.router_conf([LINK]),
], ids=["bird director", "frr director", "bird router", "frr router"])
def test_page_shows_the_configurations_of_the_lab(conf):
    assert conf in marked("docs/howto/bgp.md", "conf")
