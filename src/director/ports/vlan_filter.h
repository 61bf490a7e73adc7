/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The VLAN filter of a card. A VF, and virtio-net, receive tagged frames only of the VLANs that their driver has asked
 * for. The main thread calls the functions, and the control thread after a reset.
 */
#pragma once

#include "director/ports/port.h"

/* Returns RTE_ETH_RX_OFFLOAD_VLAN_FILTER if the port needs it to receive the VLANs of accept_vlans, otherwise 0. */
uint64_t vlan_filter_offload(const struct port *port, const struct admission *admission);

/* Asks a port that runs for the VLANs of accept_vlans. Logs a warning for those that it cannot have. */
void vlan_filter_open(const struct port *port, const struct admission *admission);
