# SPDX-License-Identifier: BSD-3-Clause
"""The director on network cards that qemu emulates, with DPDK's drivers, VFIO and an IOMMU. script/nics runs these tests in a virtual machine
that has the cards of cards.txt: one for the director, and one at the other end of its cable for the kernel."""

import operator

import pytest

from cards import read_cards
from monitor import Monitor
from service import Service
from site_network import Site
from support.guest import install, run

CARDS = read_cards()
NAME = operator.attrgetter("name")
HUGEPAGES = 384  # of 2 MB


def pytest_configure(config):
    config.addinivalue_line("markers", "smoke: the tests of script/nics --quick")


@pytest.fixture(scope="session", autouse=True)
def installed():
    install("script/nics")
    run("sysctl", f"vm.nr_hugepages={HUGEPAGES}")


@pytest.fixture(scope="session")
def monitor():
    return Monitor()


@pytest.fixture(scope="session")
def site(installed):
    return Site()


@pytest.fixture(scope="session", params=[card for card in CARDS if card.forwards], ids=NAME)
def card(request, site):
    """The tests of a card run in a row: it is bound to DPDK, and its cable is plugged in."""
    each = request.param
    each.bind()
    site.plug(each)
    yield each
    site.unplug(each)
    each.release()


@pytest.fixture(scope="session", params=[card for card in CARDS if not card.forwards], ids=NAME)
def blocked(request):
    """A card that cannot forward."""
    each = request.param
    each.bind()
    yield each
    each.release()


@pytest.fixture(scope="session")
def service(card):
    made = Service(card)
    yield made
    made.stop()
