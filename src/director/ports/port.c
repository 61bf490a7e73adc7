/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/port.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "common/text.h"
#include "director/ports/vlan_filter.h"
#include "director/descriptors.h"
#include "director/ports/port_device.h"
#include "director/ports/port_interrupts.h"
#include "director/ports/port_rss.h"
#include "program/host/device.h"
#include "program/log.h"
#include "worker/mbuf.h"
#include "worker/queue.h"

enum {
	EXCEPTION_DESCRIPTORS = 1024,
	AF_XDP_DESCRIPTORS = 2048, /* the driver always fills this number, whatever it is asked for */
	DATA_ROOM_HUGE = RTE_MBUF_DEFAULT_BUF_SIZE,
	/*
	 * Without hugepages, DPDK gives each element that is smaller than a page a page to itself. The headers of all
	 * frames would then compete for the same cache sets.
	 */
	DATA_ROOM_NO_HUGE = RTE_PKTMBUF_HEADROOM + 4096,
};

/* Bytes of an Ethernet frame beyond the MTU. DPDK assumes the same if a driver gives no other number. */
#define FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN)

static bool is_af_xdp(const struct port *port)
{
	return strcmp(port->info.driver_name, "net_af_xdp") == 0;
}

int port_probe(struct port *port, uint16_t id)
{
	int error;

	*port = (struct port){.id = id};
	error = rte_eth_dev_get_name_by_port(id, port->name);
	if (!error)
		error = rte_eth_dev_info_get(id, &port->info);
	if (!error)
		error = rte_eth_macaddr_get(id, &port->mac);
	if (error) {
		log_error("port %u: DPDK cannot query it: %s", id, strerror(-error));
		return error;
	}
	port_device_note(port);
	memcpy(&port->mac_number, &port->mac, sizeof(port->mac));
	/* net_pcap can send several segments, too, but does not announce it. */
	port->tx_segments = port->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS ||
			    strcmp(port->info.driver_name, "net_pcap") == 0;
	return 0;
}

/* A frame of AF_XDP may not be larger than a page. */
static uint16_t data_room(const struct port *port)
{
	return rte_eal_has_hugepages() || is_af_xdp(port) ? DATA_ROOM_HUGE : DATA_ROOM_NO_HUGE;
}

uint32_t port_most_tx_descriptors(const struct conf *conf)
{
	return RTE_MAX(conf->tx_descriptors, AF_XDP_DESCRIPTORS);
}

static int create_pool(struct port *port, const struct conf *conf, uint32_t lcores, uint32_t extra)
{
	uint32_t count = (uint32_t)port->rx_queues * port->rx_descriptors +
			 (uint32_t)port->tx_queues * port->tx_descriptors +
			 lcores * (MBUF_POOL_CACHE * 3 / 2 + 2 * QUEUE_BURST) + extra;
	uint32_t mbufs = port->of_exception_path ? 0 : conf->mbufs;
	uint16_t room = data_room(port);
	char name[RTE_MEMPOOL_NAMESIZE];

	if (mbufs && mbufs < count) {
		log_error("mbufs: port %u (%s) needs at least %u frame buffers for %u rx and %u tx queues, but mbufs is %u: raise it, or set it to 0",
			port->id, port->name, count, port->rx_queues, port->tx_queues, mbufs);
		return -EINVAL;
	}
	count = RTE_MAX(count, mbufs);
	snprintf(name, sizeof(name), "frames-%u", port->id);
	port->pool = rte_pktmbuf_pool_create(name, count, MBUF_POOL_CACHE, mbuf_private_size(!conf->outbound_src_ip),
		room, rte_eth_dev_socket_id(port->id));
	if (port->pool)
		return 0;
	log_error("port %u (%s): no memory for %u frame buffers of %u bytes (%u MB): give EAL more (%s), or lower mbufs, rx_descriptors, tx_descriptors or num_worker_queues: %s",
		port->id, port->name, count, room, (uint32_t)(((uint64_t)count * (room + 256)) >> 20),
		rte_eal_has_hugepages() ? "reserve more hugepages" : "-m", rte_strerror(rte_errno));
	return -rte_errno;
}

/*
 * With events of the link, DPDK replies with the link as of the last event, and drivers lose events: some have only one
 * interrupt, and need it for packets. So the director asks for the link, and has events only beside it: where the
 * kernel knows the link. virtio-user, which loses none, is the exception: when it is asked and finds the other end of
 * its socket gone, it waits there for the next one.
 */
static bool has_link_events(const struct port *port)
{
	return (*port->info.dev_flags & RTE_ETH_DEV_INTR_LSC) &&
	       (port->info.if_index || strcmp(port->info.driver_name, "net_virtio_user") == 0);
}

static struct rte_eth_conf device_conf(struct port *port, const struct conf *conf)
{
	struct rte_eth_conf device = {0};
	uint32_t mtu = conf->steering.outbound_mtu > RTE_ETHER_MTU ? conf->steering.outbound_mtu : RTE_ETHER_MTU;

	/* outbound_mtu, but at least 1500, and at most what the port can do. Drivers state that as an MTU or as a frame
	 * size. */
	if (port->info.max_mtu && mtu > port->info.max_mtu)
		mtu = port->info.max_mtu;
	if (port->info.max_rx_pktlen > FRAME_OVERHEAD && mtu > port->info.max_rx_pktlen - FRAME_OVERHEAD)
		mtu = port->info.max_rx_pktlen - FRAME_OVERHEAD;
	device.rxmode.mtu = mtu;
	mtu = RTE_MAX(mtu, port->mtu);
	port_rss_fill(port, conf, &device);
	if (mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + 8 > (uint32_t)(data_room(port) - RTE_PKTMBUF_HEADROOM))
		device.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER & port->info.rx_offload_capa;
	port->rx_segments = device.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER;
	device.rxmode.offloads |= vlan_filter_offload(port, &conf->steering.admission);
	device.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS & port->info.tx_offload_capa;
	if (!port->of_exception_path) {
		device.intr_conf.rxq = port->rx_interrupts;
		device.intr_conf.lsc = has_link_events(port);
		device.intr_conf.rmv = !!(*port->info.dev_flags & RTE_ETH_DEV_INTR_RMV);
	}
	return device;
}

static int setup_rx_queue(struct port *port, uint16_t queue, const struct rte_eth_rxconf *rx)
{
	unsigned socket = (unsigned)rte_eth_dev_socket_id(port->id);
	struct descriptors before;
	int error;

	descriptors_take(&before);
	error = rte_eth_rx_queue_setup(port->id, queue, port->rx_descriptors, socket, rx, port->pool);
	if (error) {
		log_error("port %u (%s): cannot set up rx queue %u: %s", port->id, port->name, queue, strerror(-error));
		return error;
	}
	port->rx_sources[queue] = (struct idle_source){.fd = descriptors_new_queue(&before)};
	if (strcmp(port->info.driver_name, "net_af_packet") == 0) /* it opened its sockets when the port was created */
		port->rx_sources[queue].fd = descriptors_packet_socket(port->info.if_index, queue);
	return 0;
}

static int setup_queues(struct port *port, const struct conf *conf, const struct rte_eth_conf *device)
{
	struct rte_eth_rxconf rx = port->info.default_rxconf;
	struct rte_eth_txconf tx = port->info.default_txconf;
	unsigned socket = (unsigned)rte_eth_dev_socket_id(port->id);
	int error = 0;

	rx.rx_drop_en = conf->rx_drop_en;
	rx.offloads = device->rxmode.offloads;
	tx.offloads = device->txmode.offloads;
	for (uint16_t queue = 0; queue < port->rx_queues && !error; queue++)
		error = setup_rx_queue(port, queue, &rx);
	for (uint16_t queue = 0; queue < port->tx_queues && !error; queue++) {
		error = rte_eth_tx_queue_setup(port->id, queue, port->tx_descriptors, socket, &tx);
		if (error)
			log_error("port %u (%s): cannot set up tx queue %u: %s", port->id, port->name, queue,
				strerror(-error));
	}
	return error;
}

/* Chooses the numbers of descriptors. The driver rounds them, and keeps them within its limits. 0 or -errno. */
static int adjust_descriptors(struct port *port, const struct conf *conf)
{
	uint16_t rx = conf->rx_descriptors, tx = conf->tx_descriptors;
	int error;

	if (port->of_exception_path)
		rx = tx = EXCEPTION_DESCRIPTORS;
	port->rx_descriptors = is_af_xdp(port) ? AF_XDP_DESCRIPTORS : rx;
	port->tx_descriptors = is_af_xdp(port) ? AF_XDP_DESCRIPTORS : tx;
	error = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rx_descriptors, &port->tx_descriptors);
	if (error)
		log_error("port %u (%s): cannot adjust rx_descriptors and tx_descriptors: %s", port->id, port->name,
			strerror(-error));
	else if (port->rx_descriptors != rx || port->tx_descriptors != tx)
		log_info("port %u (%s): the driver has %u descriptors for rx_descriptors = %u, and %u for tx_descriptors = %u",
			port->id, port->name, port->rx_descriptors, rx, port->tx_descriptors, tx);
	return error;
}

int port_setup(struct port *port, const struct conf *conf, uint32_t lcores, uint32_t extra)
{
	struct rte_eth_conf device = device_conf(port, conf);
	int error = port_rss_configure(port, &device);

	if (error && port->rx_interrupts) {
		port_interrupts_give_up(port);
		device = device_conf(port, conf);
		error = port_rss_configure(port, &device);
	}
	if (error) {
		log_error("port %u (%s): cannot have %u rx and %u tx queues: %s; try a lower num_worker_queues",
			port->id, port->name, port->rx_queues, port->tx_queues, strerror(-error));
		return error;
	}
	error = adjust_descriptors(port, conf);
	if (!error && !port->pool)
		error = create_pool(port, conf, lcores, extra);
	return error ? error : setup_queues(port, conf, &device);
}

/* DPDK does not know the MTU of a port whose driver uses a kernel interface. Asks the kernel; `otherwise`: if that
 * fails. */
static uint16_t kernel_mtu(const struct port *port, uint16_t otherwise)
{
	struct ifreq request = {0};
	bool known = if_indextoname(port->info.if_index, request.ifr_name) && device_ask(SIOCGIFMTU, &request) == 0;

	return known ? (uint16_t)RTE_MIN(request.ifr_mtu, UINT16_MAX) : otherwise; /* the MTU of lo is 65536 */
}

uint16_t port_read_mtu(const struct port *port)
{
	uint16_t mtu = port->mtu;

	if (!port->info.if_index || !mtu) /* an interface that was removed keeps its last MTU */
		rte_eth_dev_get_mtu(port->id, &mtu);
	return port->info.if_index ? kernel_mtu(port, mtu) : mtu;
}

static void raise_mtu(struct port *port, uint16_t wanted)
{
	int error;

	port->mtu = port_read_mtu(port);
	if (port->mtu >= wanted)
		return;
	error = rte_eth_dev_set_mtu(port->id, wanted);
	if (error) {
		log_warning("port %u (%s): MTU %u cannot be raised to outbound_mtu %u: %s", port->id, port->name,
			port->mtu, wanted, strerror(-error));
		return;
	}
	log_notice("port %u (%s): MTU raised from %u to outbound_mtu %u", port->id, port->name, port->mtu, wanted);
	port->mtu = wanted;
}

int port_start(struct port *port, const struct conf *conf)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	int error;

	if (!port->of_exception_path)
		raise_mtu(port, conf->steering.outbound_mtu);
	error = rte_eth_dev_start(port->id);
	if (port->rx_interrupts && (error || !port_interrupts_open(port))) {
		port_interrupts_give_up(port);
		rte_eth_dev_stop(port->id);
		error = port_setup(port, conf, 0, 0);
		if (!error)
			error = rte_eth_dev_start(port->id);
	}
	if (error) {
		log_error("port %u (%s): does not start: %s", port->id, port->name, strerror(-error));
		return error;
	}
	vlan_filter_open(port, &conf->steering.admission);
	rte_ether_format_addr(mac, sizeof(mac), &port->mac);
	log_info("port %u (%s): driver %s, MAC %s, MTU %u, %u rx queue%s of %u descriptors%s, %u tx queue%s of %u descriptors",
		port->id, port->name, port->info.driver_name, mac, port->mtu, port->rx_queues,
		text_plural(port->rx_queues), port->rx_descriptors, port->rx_interrupts ? " with interrupts" : "",
		port->tx_queues, text_plural(port->tx_queues), port->tx_descriptors);
	return 0;
}

void port_close(struct port *port)
{
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
}
