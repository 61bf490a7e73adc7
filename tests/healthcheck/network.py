# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts on one cable: glb-healthcheck runs on one, the other has the addresses of all proxies."""

from lab.net import Namespace, connect

HERE, HERE6 = "10.77.0.1", "fd77::1"
PROXY, PROXY6 = "10.77.0.10", "fd77::10"
ELSEWHERE, ELSEWHERE6 = "10.77.0.99", "fd77::99"  # other addresses of the proxies' host
NOBODY = "10.77.0.200"
VIP, VIP6 = "203.0.113.10", "2001:db8:113::10"
MANY = "10.78.0.0/16"  # every address in it is a proxy


def make_hosts():
    """Returns (the host that runs glb-healthcheck, the host of the proxies)."""
    here, proxies = Namespace("here"), Namespace("proxies")
    connect(here, "wire", proxies, "wire")
    proxies.ip(
        f"address add {PROXY}/24 dev wire",
        f"address add {ELSEWHERE}/24 dev wire",
        f"address add {PROXY6}/64 dev wire nodad",
        f"address add {ELSEWHERE6}/64 dev wire nodad",
        f"address add {VIP}/32 dev lo",
        f"address add {VIP6}/128 dev lo nodad",
        f"route add local {MANY} dev lo",
    )
    here.ip(
        f"address add {HERE}/24 dev wire",
        f"address add {HERE6}/64 dev wire nodad",
        f"route add {MANY} via {PROXY}",
        f"route add default via {PROXY}",
        f"route add default via {PROXY6}",
    )
    proxies.sysctl({"net.ipv4.icmp_ratelimit": "0", "net.ipv6.icmp.ratelimit": "0"})  # every port that nobody serves answers with an ICMP error
    here.sysctl({"net.ipv4.ping_group_range": "1 0"})  # no ICMP socket without CAP_NET_RAW
    return here, proxies
