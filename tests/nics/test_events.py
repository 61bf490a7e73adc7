# SPDX-License-Identifier: BSD-3-Clause
"""Events of a card: its device is removed and comes back."""

from cards import DEVICES, interface
from support.guest import wait
from test_cards import FEW, LCORES, config, connect


def causes(service):
    health = service.health()
    return health["state"], [reason["cause"] for reason in health["reasons"]]


def start(card, service, site):
    service.write_table(site.table.json())
    service.configure(config(card), LCORES)
    service.start()
    connect(site, FEW)
    service.mark()


def test_unplugged_card_is_given_back_and_used_again(card, service, site, monitor):
    """The kernel waits until the director has closed the device. Nobody restarts the director."""
    start(card, service, site)
    pid = service.pid()
    monitor.unplug(card.qdev)
    service.wait_log("the director has released the device")
    wait(lambda: not (DEVICES / card.address).exists(), lambda: f"{card.address} to disappear:\n{service.log()}")
    assert causes(service) == ("failing", ["port_removed"])
    asleep = {lcore: counters["sleeps"] for lcore, counters in service.stats()["lcores"].items()}
    wait(lambda: all(each["sleeps"] > asleep[lcore] for lcore, each in service.stats()["lcores"].items()), "lcores that sleep")

    wait(lambda: monitor.plug(card), "the slot to be empty")
    wait(lambda: interface(card.pf_mac), "the kernel's interface of the card")
    card.bind()
    service.wait_log("the device is back and in use again")
    wait(lambda: service.health()["state"] == "ok", service.health)
    connect(site, FEW)
    assert service.pid() == pid and service.health()["ports"]["0"]["attaches"] == 1
    print(service.log())
