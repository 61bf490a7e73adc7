/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bifurcate/vf/vf_ask.h"
#include "conf/conf_reader.h"
#include "program/host/interface.h"

#define DEVICES   "/sys/bus/pci/devices"
#define MAX_NODES 4

const char *vf_state_wanted_driver(const struct vf_state *state)
{
	return strcmp(state->driver, VF_MLX5) == 0 ? VF_MLX5 : VF_VFIO;
}

/* Writes the PCI address that VF `number` of the PF has, or will have. */
static void vf_state_address(const struct vf_state *state, unsigned number, char address[VF_PCI_MAX])
{
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	unsigned long id;

	sscanf(state->pf, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
	id = (unsigned long)(bus << 8 | slot << 3 | function) + (unsigned long)state->offset +
	     (unsigned long)state->stride * number;
	snprintf(address, VF_PCI_MAX, "%04x:%02x:%02x.%x", domain & 0xffffff, (unsigned)(id >> 8 & 0xff),
		(unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

/* The name goes into commands, which are printed for people and their shells. */
static bool is_plain(const char *name)
{
	return *name &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@-") == strlen(name);
}

static int find_pf(const struct host *host, const char *device, struct vf_state *state, struct faults *faults)
{
	char name[HOST_ENTRY_MAX];
	long total = 0;

	if (!is_plain(device)) {
		faults_error(faults, "device", "'%s' is neither a PCI address nor the name of an interface", device);
		return -EINVAL;
	}
	if (host_exists(host_path(host, DEVICES "/%s", device)))
		snprintf(name, sizeof(name), "%s", device);
	else if (!host_link(host_path(host, "/sys/class/net/%s/device", device), name)) {
		faults_error(faults, "device",
			"there is no card '%s': see the addresses in /sys/bus/pci/devices; they stay the same if an interface is renamed",
			device);
		return -ENODEV;
	}
	if (host_exists(host_path(host, DEVICES "/%s/physfn", name))) {
		faults_error(faults, "device", "%s is a VF: name the PF that it belongs to", name);
		return -EINVAL;
	}
	if (!host_number(host_path(host, DEVICES "/%s/sriov_totalvfs", name), &total) || total < 1) {
		faults_error(faults, "device",
			"%s has no SR-IOV: enable it in the firmware of the host and of the card, or use AF_XDP", name);
		return -ENOTSUP;
	}
	snprintf(state->pf, sizeof(state->pf), "%.*s", (int)sizeof(state->pf) - 1, name);
	state->total = total;
	return 0;
}

/* Finds the interface of the PF and the representor of the VF, which belong to the same device. */
struct search {
	const struct host *host;
	struct vf_state *state;
	unsigned vf;
};

static void examine_interface(void *context, const char *name)
{
	struct search *search = context;
	struct vf_state *state = search->state;
	const struct host *host = search->host;
	char port[HOST_LINE_MAX];
	const char *vf;
	unsigned number;

	host_line(host_path(host, DEVICES "/%s/net/%s/phys_port_name", state->pf, name), port);
	vf = strstr(port, "vf");
	if (!strstr(port, "pf") && !vf) { /* ports with a PF in their names are representors, also of subfunctions */
		if (!*state->interface)
			snprintf(state->interface, sizeof(state->interface), "%.*s", IF_NAMESIZE - 1, name);
	} else if (vf && is_plain(name) && (sscanf(vf, "vf%u", &number) == 1 || sscanf(vf, "vfr%u", &number) == 1) &&
		   number == search->vf) {
		struct interface interface;

		snprintf(state->representor, sizeof(state->representor), "%.*s", IF_NAMESIZE - 1, name);
		state->representor_up = interface_read(host, name, &interface) && interface.up;
	}
}

static bool read_driver(const struct host *host, const char *device, char driver[VF_DRIVER_MAX])
{
	char name[HOST_ENTRY_MAX];
	bool bound = host_link(host_path(host, DEVICES "/%s/driver", device), name);

	snprintf(driver, VF_DRIVER_MAX, "%.*s", VF_DRIVER_MAX - 1, name);
	return bound;
}

static int read_pf(const struct host *host, const struct vf_conf *conf, struct vf_state *state, struct faults *faults)
{
	struct search search = {.host = host, .state = state, .vf = conf->vf};
	char line[HOST_LINE_MAX], name[HOST_ENTRY_MAX];
	struct interface interface;
	uint8_t mac[6];
	long autoprobe = 1;

	read_driver(host, state->pf, state->driver);
	host_each(host_path(host, DEVICES "/%s/net", state->pf), examine_interface, &search);
	if (!is_plain(state->interface)) {
		faults_error(faults, "device",
			"%s has no interface here (driver: %s): bind the PF to the driver of the kernel, and only a VF to vfio-pci; and take its interface back from other network namespaces",
			state->pf, *state->driver ? state->driver : "none");
		return -ENODEV;
	}
	state->up = interface_read(host, state->interface, &interface) && interface.up;
	host_line(host_path(host, "/sys/class/net/%s/address", state->interface), line);
	state->pf_has_mac = conf_parse_mac(line, mac) && memcmp(mac, conf->mac, sizeof(mac)) == 0;
	state->vendor_driver = host_exists(host_path(host, "/sys/module/%s/version", state->driver));
	host_number(host_path(host, DEVICES "/%s/sriov_numvfs", state->pf), &state->count);
	host_number(host_path(host, DEVICES "/%s/sriov_offset", state->pf), &state->offset);
	host_number(host_path(host, DEVICES "/%s/sriov_stride", state->pf), &state->stride);
	host_number(host_path(host, DEVICES "/%s/sriov_drivers_autoprobe", state->pf), &autoprobe);
	state->autoprobe = autoprobe != 0;
	state->has_iommu = host_link(host_path(host, DEVICES "/%s/iommu_group", state->pf), name);
	host_line(host_path(host, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"), line);
	state->unsafe_no_iommu = strcmp(line, "Y") == 0;
	state->has_vfio = host_exists(host_path(host, "/sys/bus/pci/drivers/" VF_VFIO));
	return 0;
}

static void read_vf(const struct host *host, const struct vf_conf *conf, struct vf_state *state)
{
	char name[HOST_ENTRY_MAX], override[HOST_LINE_MAX];
	struct interface interface;

	vf_state_address(state, conf->vf, state->vf);
	if (!host_link(host_path(host, DEVICES "/%s/virtfn%u", state->pf, conf->vf), name))
		return;
	state->exists = true;
	snprintf(state->vf, sizeof(state->vf), "%.*s", VF_PCI_MAX - 1, name);
	read_driver(host, state->vf, state->vf_driver);
	/* The folder exists while there is an interface, but does not show one that belongs to another network
	 * namespace. */
	if (!host_first(host_path(host, DEVICES "/%s/net", state->vf), name))
		state->vf_interface_hidden = host_exists(host_path(host, DEVICES "/%s/net", state->vf));
	else if (interface_read(host, name, &interface) && interface.up)
		snprintf(state->vf_interface, sizeof(state->vf_interface), "%.*s", IF_NAMESIZE - 1, name);
	host_line(host_path(host, DEVICES "/%s/driver_override", state->vf), override);
	if (strcmp(override, "(null)") != 0)
		snprintf(state->vf_override, sizeof(state->vf_override), "%.*s", VF_DRIVER_MAX - 1, override);
}

/* The files in /dev through which a process drives a VF. "": none. */
struct nodes {
	char names[MAX_NODES][HOST_ENTRY_MAX];
};

struct user_search {
	const struct host *host;
	char (*vfs)[VF_PCI_MAX];
	const struct nodes *nodes; /* of the VFs, in the same order */
	unsigned count;
	const char *process;
	struct vf_user *user;
};

/* VFIO has a file for each group, or for each device; without an IOMMU, the name of the group's file is another one. */
static bool find_nodes(const struct host *host, const char *vf, struct nodes *nodes)
{
	char name[HOST_ENTRY_MAX];

	*nodes = (struct nodes){0};
	if (host_link(host_path(host, DEVICES "/%s/iommu_group", vf), name)) {
		snprintf(nodes->names[0], HOST_ENTRY_MAX, "/dev/vfio/%.200s", name);
		snprintf(nodes->names[1], HOST_ENTRY_MAX, "/dev/vfio/noiommu-%.200s", name);
	}
	if (host_first(host_path(host, DEVICES "/%s/vfio-dev", vf), name))
		snprintf(nodes->names[2], HOST_ENTRY_MAX, "/dev/vfio/devices/%.200s", name);
	if (host_first(host_path(host, DEVICES "/%s/infiniband_verbs", vf), name))
		snprintf(nodes->names[3], HOST_ENTRY_MAX, "/dev/infiniband/%.200s", name);
	return *nodes->names[0] || *nodes->names[2] || *nodes->names[3];
}

static bool has_node(const struct nodes *nodes, const char *path)
{
	for (unsigned i = 0; i < MAX_NODES; i++)
		if (strcmp(nodes->names[i], path) == 0)
			return true;
	return false;
}

static void examine_descriptor(void *context, const char *name)
{
	struct user_search *search = context;
	char target[PATH_MAX];
	ssize_t size = -1;

	if (!search->user->pid)
		size = readlink(
			host_path(search->host, "/proc/%s/fd/%s", search->process, name), target, sizeof(target) - 1);
	if (size <= 0)
		return;
	target[size] = '\0';
	for (unsigned i = 0; i < search->count; i++)
		if (has_node(&search->nodes[i], target)) {
			char comm[HOST_LINE_MAX];

			host_line(host_path(search->host, "/proc/%s/comm", search->process), comm);
			search->user->pid = (pid_t)strtol(search->process, NULL, 10);
			snprintf(search->user->name, sizeof(search->user->name), "%.16s", comm);
			memcpy(search->user->vf, search->vfs[i], VF_PCI_MAX);
			return;
		}
}

static void examine_process(void *context, const char *name)
{
	struct user_search *search = context;

	if (search->user->pid || strspn(name, "0123456789") != strlen(name))
		return;
	search->process = name;
	host_each(host_path(search->host, "/proc/%s/fd", name), examine_descriptor, search);
}

/* Fills *user with the first process that has one of the VFs open, through VFIO, or through RDMA with mlx5. user->pid
 * is 0 if there is none, or this user may not know. */
static void find_user(const struct host *host, char (*vfs)[VF_PCI_MAX], unsigned count, struct vf_user *user)
{
	static struct nodes nodes[VF_CONF_MAX_VFS];
	struct user_search search = {.host = host, .vfs = vfs, .nodes = nodes, .count = count, .user = user};
	bool any = false;

	*user = (struct vf_user){0};
	for (unsigned i = 0; i < count; i++)
		any |= find_nodes(host, vfs[i], &nodes[i]);
	if (any)
		host_each(host_path(host, "/proc"), examine_process, &search);
}

static void read_others(const struct host *host, const struct vf_conf *conf, struct vf_state *state)
{
	char vfs[VF_CONF_MAX_VFS][VF_PCI_MAX], name[HOST_ENTRY_MAX], driver[VF_DRIVER_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < VF_CONF_MAX_VFS && (long)i < state->count; i++) {
		if (i == conf->vf || !host_link(host_path(host, DEVICES "/%s/virtfn%u", state->pf, i), name))
			continue;
		snprintf(vfs[count], VF_PCI_MAX, "%.*s", VF_PCI_MAX - 1, name);
		state->other_bound |= read_driver(host, vfs[count++], driver);
	}
	find_user(host, vfs, count, &state->other_user);
	if (state->exists)
		find_user(host, &state->vf, 1, &state->user);
}

int vf_state_read(const struct host *host, const struct vf_conf *conf, struct vf_state *state, struct faults *faults)
{
	int error;

	*state = (struct vf_state){.mac_vf = -1};
	error = find_pf(host, conf->device, state, faults);
	if (!error)
		error = read_pf(host, conf, state, faults);
	if (error)
		return error;
	if (*host->root)
		state->eswitch = *state->representor ? VF_ESWITCH_SWITCHDEV : VF_ESWITCH_LEGACY;
	else
		error = vf_ask_attributes(state, conf, faults);
	if (!*host->root && conf->steering == VF_STEERING_RULES)
		vf_ask_eswitch(state);
	read_vf(host, conf, state);
	read_others(host, conf, state);
	return error;
}

void vf_state_predict(struct vf_state *state, unsigned count, bool autoprobe)
{
	state->count = count;
	state->exists = true;
	state->autoprobe = autoprobe;
	state->other_bound = false;
	state->attributes = (struct vf_attributes){0};
	state->rules.count = state->rules.total = 0;
	/* The name of the kernel's driver for VFs is not known yet. */
	snprintf(state->vf_driver, sizeof(state->vf_driver), "%s", autoprobe ? "?" : "");
	state->vf_override[0] = '\0';
	state->vf_interface[0] = '\0';
	state->vf_interface_hidden = false;
}
