/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What attach must know about an interface and about the host's settings. No state, one thread. The functions print,
 * and return COMMAND_OK or COMMAND_FAILED.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "redirect/config/redirect_conf.h"
#include "redirect/redirect.h"

/* Sets *ifindex, and settings->mtu. Refuses an interface without Ethernet headers, or in a VRF. */
int interface_read(const char *interface, uint32_t *ifindex, struct redirect_settings *settings);

/*
 * Refuses an interface that removes the tags of the only VLAN interfaces on which GUE can arrive, for native mode.
 * Prints a note instead if the program is attached already, because an upgrade must not fail for that, or if GUE can
 * arrive without tags, too.
 */
int interface_check_tags(const char *interface, const struct redirect_conf *conf, bool attached);

/* Refuses settings for which the kernel must look up routes for eBPF, if it does not. */
int interface_check_forwarding(const struct redirect_settings *settings, const struct redirect_conf *conf);
