# SPDX-License-Identifier: BSD-3-Clause
"""Which units let a Prometheus of another host in. The pages name the one that does not, and the drop-in that changes it."""

import re

from support.pages import block
from support.tree import TREE

# The units of the programs that serve metrics. systemd adds the lines of a drop-in to these.
FILTERS = {
    "glb-director": ["IPAddressDeny=any", "IPAddressAllow=localhost"],
    "glb-healthcheck": [],
    "glb-redirect-exporter": [],
}


def test_only_the_unit_of_the_director_lets_no_other_host_in():
    for unit, filters in FILTERS.items():
        text = (TREE / f"packaging/systemd/{unit}.service.in").read_text()
        assert re.findall(r"^IPAddress.*", text, re.MULTILINE) == filters, unit


def test_pages_name_the_unit_and_the_drop_in():
    drop_in = block("docs/howto/monitoring.md", "IPAddressAllow=").splitlines()
    assert drop_in[0] == "[Service]" and [line.split("=")[0] for line in drop_in[1:]] == ["IPAddressAllow"]
    how_to, reference = ((TREE / page).read_text() for page in ("docs/howto/monitoring.md", "docs/reference/metrics.md"))
    assert "`systemctl edit glb-director`" in how_to and "`systemctl edit glb-director`" in reference
    assert drop_in[1] in reference
    assert "The unit of glb-healthcheck and that of the exporter let all hosts in." in reference
