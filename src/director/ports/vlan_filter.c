/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/vlan_filter.h"

#include <string.h>

#include "program/log.h"

/*
 * With accept_vlans = "any", the filter stays off, because a card has few entries and its VFs share them. But
 * virtio-net always filters, and has an entry for each VLAN.
 */
static bool is_virtio(const struct port *port)
{
	return strcmp(port->info.driver_name, "net_virtio") == 0;
}

uint64_t vlan_filter_offload(const struct port *port, const struct admission *admission)
{
	if (port->of_exception_path || !admission_accepts_tagged(admission))
		return 0;
	return admission->check_vlans || is_virtio(port) ? RTE_ETH_RX_OFFLOAD_VLAN_FILTER & port->info.rx_offload_capa
							 : 0;
}

void vlan_filter_open(const struct port *port, const struct admission *admission)
{
	unsigned refused = 0, first = 0;
	int error = 0;

	if (!vlan_filter_offload(port, admission))
		return;
	for (uint16_t id = 0; id < ADMISSION_VLANS - 1; id++) { /* 4095 is reserved */
		int result = admission_accepts_vlan(admission, id) ? rte_eth_dev_vlan_filter(port->id, id, 1) : 0;

		if (!result || id == 0) /* frames without a tag pass in any case */
			continue;
		if (refused++ == 0)
			first = id, error = result;
	}
	if (refused)
		log_warning(
			"port %u (%s): the driver refuses VLAN %u of accept_vlans (%s) and %u others: their frames do not arrive; let the PF or the kernel remove the tags, or list fewer VLANs",
			port->id, port->name, first, strerror(-error), refused - 1);
}
