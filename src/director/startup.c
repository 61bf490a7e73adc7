/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/startup.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "director/bifurcation.h"
#include "director/eal.h"
#include "director/ports/exception.h"
#include "director/ports/port.h"
#include "director/ports/port_interrupts.h"
#include "director/ports/port_macs.h"
#include "director/ports/port_recovery.h"
#include "director/ports/port_rss.h"
#include "director/ports/port_watch.h"
#include "director/ports/vdev.h"
#include "program/host/device.h"
#include "program/host/hugepages.h"
#include "program/log.h"
#include "worker/distribute.h"
#include "worker/worker.h"

int startup_conf(struct director *director)
{
	struct faults faults = {.file = director->options.config_file};
	int error = conf_read(director->options.config_file, &director->conf, &faults);

	log_faults(&faults, FAULTS_ALL);
	return error;
}

static bool has_option(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], option) == 0)
			return true;
	return false;
}

static void explain_permission(void)
{
	if (geteuid() != 0)
		log_error(
			"a permission may be missing: run as root, or with CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK and access to the device files");
}

static void explain_eal(int argc, char **argv)
{
	if (!has_option(argc, argv, "--no-huge") && !hugepages_count(&(struct host){""}, HUGEPAGES_FOLDER).unused_kb)
		log_error(
			"there are no free hugepages: reserve some (sysctl vm.nr_hugepages=512), or pass the EAL options --no-huge -m 64 if speed does not matter");
	else
		explain_permission();
}

/*
 * Returns "NAME,ARGS" if argv[*i] is "--vdev=NAME,ARGS", or if it is "--vdev" and the next word is "NAME,ARGS". In the
 * second case *i moves to that word. Otherwise returns NULL.
 */
static const char *vdev_argument(int argc, char **argv, int *i)
{
	if (strncmp(argv[*i], "--vdev=", 7) == 0)
		return argv[*i] + 7;
	if (strcmp(argv[*i], "--vdev") == 0 && *i + 1 < argc)
		return argv[++*i];
	return NULL;
}

/* Returns whether one of the arguments before `end` is a virtual device with the same name. */
static bool vdev_is_repeated(int end, char **argv, const char *vdev)
{
	size_t size = strcspn(vdev, ",");

	for (int i = 1; i < end; i++) {
		const char *other = vdev_argument(end, argv, &i);

		if (other && strcspn(other, ",") == size && memcmp(other, vdev, size) == 0)
			return true;
	}
	return false;
}

/* EAL does not fail if it cannot create a virtual device, or if two have the same name, of which it ignores
 * the second. */
static int check_vdevs(int argc, char **argv)
{
	int error = 0;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		int first = i;
		const char *vdev = vdev_argument(argc, argv, &i);
		char name[RTE_ETH_NAME_MAX_LEN];
		uint16_t port;

		if (vdev && vdev_is_repeated(first, argv, vdev)) {
			log_error("--vdev %s: an earlier --vdev has the same device name: number the devices (net_af_packet0, net_af_packet1)",
				vdev);
			return -EEXIST;
		}
		if (!vdev || (strncmp(vdev, "net_", 4) != 0 && strncmp(vdev, "eth_", 4) != 0))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(vdev, ","), vdev);
		if (rte_eth_dev_get_port_by_name(name, &port) == 0)
			continue;
		log_error("--vdev %s: the driver created no port: see EAL's messages above, and check that the interface exists and is up, or that the file exists, and that the director may open it",
			vdev);
		error = -ENODEV;
	}
	if (error)
		explain_permission();
	return error;
}

static int claim_vdevs(int argc, char **argv)
{
	int error = 0;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0 && !error; i++) {
		const char *vdev = vdev_argument(argc, argv, &i);

		if (vdev)
			error = bifurcation_claim(vdev);
		if (vdev && !error)
			error = vdev_claim_socket(vdev);
	}
	return error;
}

int startup_eal(int argc, char **argv)
{
	struct port_watch watch;
	int error;

	if (claim_vdevs(argc, argv))
		return -EBUSY;
	port_watch_begin(&watch, PORT_WATCH_START, NULL, -1); /* to zero hugepages takes long, too */
	error = eal_start(argc, argv);
	port_watch_end(&watch);
	if (error == -EINVAL)
		return error;
	if (error) {
		log_error("DPDK's EAL does not start%s%s (see its messages above)", rte_errno ? ": " : "",
			rte_errno ? rte_strerror(rte_errno) : "");
		explain_eal(argc, argv);
		return -EINVAL;
	}
	return check_vdevs(argc, argv);
}

/* The lcores that work: the main lcore only if it is the only one. */
static uint16_t list_lcores(uint16_t lcores[RTE_MAX_LCORE])
{
	uint16_t count = 0;
	unsigned lcore;

	RTE_LCORE_FOREACH_WORKER (lcore)
		lcores[count++] = (uint16_t)lcore;
	if (count == 0)
		lcores[count++] = (uint16_t)rte_get_main_lcore();
	return count;
}

static int probe_ports(struct director *director)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV (id) {
		if (director->ports.count == PLAN_MAX_PORTS) {
			log_error("DPDK has more than %d ports: allow fewer devices (-a)", PLAN_MAX_PORTS);
			return -E2BIG;
		}
		if (port_probe(&director->ports.list[director->ports.count], id))
			return -EIO;
		director->ports.count++;
	}
	if (director->ports.count)
		return 0;
	log_error(
		"DPDK has no port: bind a network card to vfio-pci and allow it (-a 0000:03:10.0), or create a virtual port (--vdev net_af_packet0,iface=eth1)");
	return -ENODEV;
}

static int make_plan(struct director *director)
{
	struct faults faults = {.file = director->options.config_file};
	struct plan *plan = &director->plan;
	uint16_t lcores[RTE_MAX_LCORE];
	int error;

	for (uint16_t i = 0; i < director->ports.count; i++)
		plan->ports[plan->port_count++] = (struct plan_port){
			.id = director->ports.list[i].id,
			.max_rx_queues = RTE_MIN(director->ports.list[i].info.max_rx_queues, PORT_MAX_QUEUES),
			.max_tx_queues = RTE_MIN(director->ports.list[i].info.max_tx_queues, PORT_MAX_QUEUES),
			.fills_one_queue = port_rss_is_missing(&director->ports.list[i]),
		};
	error = plan_make(plan, &director->conf, lcores, list_lcores(lcores), &faults);
	log_faults(&faults, FAULTS_ALL);
	return error;
}

static void log_plan(const struct plan *plan)
{
	static const char *const kinds[] = {
		[PLAN_DIRECT] = "steers",
		[PLAN_DISTRIBUTE] = "distributes",
		[PLAN_WORK] = "works for the distributor of",
	};

	for (uint16_t i = 0; i < plan->path_count; i++) {
		const struct plan_flow_path *path = &plan->paths[i];
		char tx[32];

		snprintf(tx, sizeof(tx), "port %u queue %u", path->tx_port, path->tx_queue);
		log_info("lcore %u %s port %u queue %u -> %s", path->lcore, kinds[path->kind], path->rx_port,
			path->rx_queue, path->tx_queue == PLAN_HAND_BACK ? "its distributor" : tx);
	}
}

/*
 * Returns how many frames of the port's pool can be outside of its own queues: in rings, in flow paths, and in transmit
 * queues of other ports. Those queues keep the frames that they have sent until they are used again (except tap's). If
 * there were no frame left to receive with, nothing would be sent any more, and no frame would ever come back.
 */
static uint32_t frames_elsewhere(const struct director *director, const struct port *port)
{
	uint32_t rings = 0, queues = 0, flow_paths = 0;

	for (uint16_t i = 0; i < director->plan.path_count; i++) {
		const struct plan_flow_path *path = &director->plan.paths[i];

		if (path->rx_port != port->id)
			continue;
		flow_paths +=
			path->kind == PLAN_WORK ? 2 : 1; /* the worker's, and the one that collects what comes back */
		rings += path->kind == PLAN_WORK ? 2 : 0;
		queues += path->tx_port != port->id && path->tx_queue != PLAN_HAND_BACK;
		queues += path->kind != PLAN_WORK && director->conf.exception_path == CONF_EXCEPTION_VIRTIO_USER;
	}
	return rings * DISTRIBUTE_RING_SIZE + queues * port_most_tx_descriptors(&director->conf) +
	       flow_paths * FLOW_PATH_FRAMES;
}

/*
 * AF_XDP has no place for a tag that the card takes out, so a tagged frame would pass for an untagged one. Switches
 * this offload of the kernel interface off, and logs that. Other drivers deliver the tag, and mbuf_make_writable() puts
 * it back.
 */
static void keep_vlan_tags(const struct port *port)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	char name[IF_NAMESIZE];

	if (strcmp(port->info.driver_name, "net_af_xdp") != 0 || !if_indextoname(port->info.if_index, name))
		return;
	if (device_ethtool(name, &flags) != 0 || !(flags.data & ETH_FLAG_RXVLAN))
		return;
	flags.cmd = ETHTOOL_SFLAGS;
	flags.data &= ~(uint32_t)ETH_FLAG_RXVLAN;
	if (device_ethtool(name, &flags) != 0)
		log_warning(
			"port %u (%s): %s takes VLAN tags out of frames, and AF_XDP does not deliver them, so tagged frames pass for untagged ones: %s: try: ethtool -K %s rxvlan off",
			port->id, port->name, name, strerror(errno), name);
	else
		log_notice(
			"port %u (%s): switched off rxvlan of %s, because AF_XDP does not deliver the VLAN tags that it takes out",
			port->id, port->name, name);
}

static int start_port(struct director *director, struct port *port)
{
	struct port_watch watch;
	int error;

	port_watch_begin(&watch, PORT_WATCH_START, port, PORT_WATCH_LOG_MS);
	error = port_setup(port, &director->conf, director->plan.lcore_count, frames_elsewhere(director, port));
	if (!error)
		error = port_start(port, &director->conf);
	if (!error)
		port_macs_filter(port, &director->conf.steering.admission);
	if (!error)
		keep_vlan_tags(port);
	port_watch_end(&watch);
	return error;
}

int startup_ports(struct director *director)
{
	int error = probe_ports(director);

	if (!error)
		error = make_plan(director);
	if (!error)
		error = port_recovery_open(&director->ports);
	if (error)
		return error;
	log_plan(&director->plan);
	for (uint16_t i = 0; i < director->ports.count && !error; i++) {
		struct port *port = &director->ports.list[i];

		port->rx_queues = director->plan.ports[i].rx_queues;
		port->tx_queues = director->plan.ports[i].tx_queues;
		port->forwards = director->plan.ports[i].forwards;
		if (!port_is_used(port)) { /* if it were started, its driver would start queues that are not set up */
			log_warning("port %u (%s): no flow path uses it, so it is not started", port->id, port->name);
			continue;
		}
		/* First, so that the control thread later finds events that came during the start. */
		port_events_open(&director->ports.events[i], port->id, port->device_name, director->ports.wake);
		port->rx_interrupts = port_interrupts_wanted(port, &director->conf);
		error = start_port(director, port);
	}
	return error ? error : exception_open(&director->ports, director->plan.lcore_count);
}

const cpu_set_t *startup_control_cpus(cpu_set_t *cpus)
{
	uint16_t lcores[RTE_MAX_LCORE], count = list_lcores(lcores);
	cpu_set_t left = *cpus;

	for (uint16_t i = 0; i < count; i++) {
		rte_cpuset_t own = rte_lcore_cpuset(lcores[i]);
		cpu_set_t common;

		CPU_AND(&common, &left, &own);
		CPU_XOR(&left, &left, &common);
	}
	if (CPU_COUNT(&left))
		*cpus = left;
	return cpus;
}
