/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port_interrupts.h"

#include <string.h>

#include "program/log.h"

void port_interrupts_give_up(struct port *port)
{
	port->rx_interrupts = false;
	for (uint16_t queue = 0; queue < PORT_MAX_QUEUES; queue++)
		port->rx_sources[queue] = (struct idle_source){.fd = -1};
	log_info("port %u (%s): the driver has no receive interrupts, so idle lcores look for packets every millisecond",
		port->id, port->name);
}

bool port_interrupts_wanted(struct port *port, const struct conf *conf)
{
	/* Other drivers of the kernel have file descriptors that idle_disarm() cannot read. */
	if (conf->idle != CONF_IDLE_SLEEP || strcmp(port->kernel_driver, "vfio-pci") != 0)
		return false;
	/* It offers interrupts, but does not tell the card which of its MSI-X vectors to use, so none comes (DPDK
	 * 22.11). */
	if (strcmp(port->info.driver_name, "net_e1000_em") != 0)
		return true;
	port_interrupts_give_up(port);
	return false;
}

/* Two queues with one interrupt may belong to two lcores: one would take it away from the other. */
static bool is_shared(const struct port *port, uint16_t queue)
{
	for (uint16_t i = 0; i < queue; i++)
		if (port->rx_sources[i].fd == port->rx_sources[queue].fd)
			return true;
	return false;
}

bool port_interrupts_open(struct port *port)
{
	for (uint16_t queue = 0; queue < port->rx_queues; queue++) {
		struct idle_source *source = &port->rx_sources[queue];

		source->fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port->id, queue);
		source->is_interrupt = true;
		if (source->fd < 0 || is_shared(port, queue) || rte_eth_dev_rx_intr_enable(port->id, queue) ||
			rte_eth_dev_rx_intr_disable(port->id, queue))
			return false;
	}
	return true;
}
