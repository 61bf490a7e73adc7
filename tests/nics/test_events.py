# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts and events of a card: lcores sleep until packets arrive, and the device is removed and comes back."""

import time

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


def sleeps(service):
    return {lcore: counters["sleeps"] for lcore, counters in service.stats()["lcores"].items()}


def test_idle_lcores_wait_for_interrupts(card, service, site):
    """An lcore that sleeps until an interrupt comes wakes up 10 times a second, and one that naps up to 1000 times."""
    service.mark()
    service.write_table(site.table.json())
    service.configure(config(card), LCORES)
    service.start()
    assert ("with interrupts" in service.log()) == card.interrupts, service.log()
    assert ("the driver has no receive interrupts" in service.log()) != card.interrupts, service.log()
    connect(site, 5 * FEW)
    before = sleeps(service)
    time.sleep(5)
    slept = {lcore: count - before[lcore] for lcore, count in sleeps(service).items()}
    print(f"{card.name}: sleeps in 5 s: {slept}")
    if card.interrupts:
        assert max(slept.values()) < 250, "lcores nap"
    connect(site, FEW)
    assert "without receive interrupts" not in service.log(), service.log()


def test_unplugged_card_is_given_back_and_used_again(card, service, site, monitor):
    """The kernel waits until the director has closed the device. Nobody restarts the director."""
    start(card, service, site)
    pid = service.pid()
    monitor.unplug(card.qdev)
    service.wait_log("the director has released the device")
    wait(lambda: not (DEVICES / card.address).exists(), lambda: f"{card.address} to disappear:\n{service.log()}")
    assert causes(service) == ("failing", ["port_removed"])
    before = sleeps(service)
    wait(lambda: all(count > before[lcore] for lcore, count in sleeps(service).items()), "lcores that sleep")

    wait(lambda: monitor.plug(card), "the slot to be empty")
    wait(lambda: interface(card.pf_mac), "the kernel's interface of the card")
    card.bind()
    service.wait_log("the device is back and in use again")
    wait(lambda: service.health()["state"] == "ok", service.health)
    connect(site, FEW)
    assert service.pid() == pid and service.health()["ports"]["0"]["attaches"] == 1
    print(service.log())
