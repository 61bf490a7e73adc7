/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the kernel about one network interface of this namespace, each over a socket of its own. Any thread. */
#pragma once

#include <net/if.h>

/* request: an ioctl such as SIOCGIFMTU. *interface has the name, and gets the reply. Returns 0, or -1 with errno. */
int device_ask(unsigned long request, struct ifreq *interface);

/* command: a struct of <linux/ethtool.h>, which gets the reply. Returns 0, or -1 with errno. */
int device_ethtool(const char *name, void *command);
