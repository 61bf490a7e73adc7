/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel, and of the cards and interfaces that DPDK drives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "program/host/interface.h"

#define NO_PCI      "no PCI port"
#define MELLANOX_ID "0x15b3"

static const char *pci(const struct doctor *doctor, const struct eal_args_port *port, const char *file)
{
	return host_path(&doctor->host, "/sys/bus/pci/devices/%s/%s", port->name, file);
}

/* Returns the value of an argument of the kernel's command line, "" if it is not given. */
static const char *argument(const char *line, const char *name, char value[HOST_ENTRY_MAX])
{
	size_t size = strlen(name);

	value[0] = '\0';
	for (const char *at = line; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strncmp(at, name, size) == 0 && at[size] == '=')
			snprintf(value, HOST_ENTRY_MAX, "%.*s", (int)strcspn(at + size + 1, " "), at + size + 1);
	return value;
}

const char *doctor_ignored_argument(const struct doctor *doctor, const char **why)
{
	static const struct {
		const char *name, *file, *why;
	} arguments[] = {
		{"isolcpus", "isolated", "other programs run on these CPUs"},
		{"nohz_full", "nohz_full", "timer interrupts stop the lcores"},
	};
	char line[HOST_LINE_MAX], value[HOST_ENTRY_MAX];
	cpu_set_t cpus;

	host_line(host_path(&doctor->host, "/proc/cmdline"), line);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (!*argument(line, arguments[i].name, value) ||
			!host_cpus(host_path(&doctor->host, "/sys/devices/system/cpu/%s", arguments[i].file), &cpus) ||
			CPU_COUNT(&cpus))
			continue;
		if (why)
			*why = arguments[i].why;
		return arguments[i].name;
	}
	return NULL;
}

void doctor_kernel(struct doctor *doctor)
{
	static const char *const names[] = {
		"isolcpus", "nohz_full", "rcu_nocbs", "intel_iommu", "iommu", "amd_iommu", "hugepages", "hugepagesz"};
	char line[HOST_LINE_MAX], release[HOST_LINE_MAX], value[HOST_ENTRY_MAX], text[1024] = "";
	const char *ignored, *why;

	if (!host_line(host_path(&doctor->host, "/proc/cmdline"), line)) {
		doctor_ok(doctor, "", "not known: there is no /proc/cmdline");
		return;
	}
	host_line(host_path(&doctor->host, "/proc/sys/kernel/osrelease"), release);
	ignored = doctor_ignored_argument(doctor, &why);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*argument(line, names[i], value))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s=%.60s", names[i], value);
	if (ignored)
		findings_add(&doctor->findings, FINDINGS_WARN, ignored, NULL,
			"the kernel's command line has %s=%s, but the kernel does not use it, so %s: correct it in /etc/default/grub",
			ignored, argument(line, ignored, value), why);
	else
		doctor_ok(doctor, "", "Linux %s,%s", *release ? release : "unknown",
			*text ? text : " no arguments for CPUs, IOMMU or hugepages");
}

static bool is_mellanox(const struct doctor *doctor, const struct eal_args_port *port)
{
	char vendor[HOST_LINE_MAX];

	return host_line(pci(doctor, port, "vendor"), vendor) && strcmp(vendor, MELLANOX_ID) == 0;
}

/* Adds one finding for all cards without an IOMMU group. */
static void report_no_iommu(struct doctor *doctor, const char *cards)
{
	char mode[HOST_LINE_MAX], line[HOST_LINE_MAX], value[HOST_ENTRY_MAX];
	const char *command;
	bool given;

	host_line(host_path(&doctor->host, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"), mode);
	if (strcmp(mode, "Y") == 0) {
		findings_add(&doctor->findings, FINDINGS_WARN, cards, NULL,
			"VFIO works without IOMMU, so the card can write to all memory of this host, and the unit needs CAP_SYS_RAWIO and CAP_SYS_ADMIN: enable VT-d or AMD-Vi in the firmware");
		return;
	}
	host_line(host_path(&doctor->host, "/proc/cmdline"), line);
	given = *argument(line, "intel_iommu", value) && strcmp(value, "off") != 0;
	given |= *argument(line, "iommu", value) && strcmp(value, "off") != 0;
	command = host_command("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&intel_iommu=on iommu=pt /' %s && update-grub",
		host_path(&doctor->host, "/etc/default/grub"));
	findings_add(&doctor->findings, FINDINGS_FAIL, cards, given ? NULL : command,
		given ? "the card has no IOMMU group although the kernel's command line asks for one, so vfio-pci refuses it: enable VT-d or AMD-Vi in the firmware"
		      : "the card has no IOMMU group, so vfio-pci refuses it: also enable VT-d or AMD-Vi in the firmware, and restart this host");
}

/* What is in the IOMMU group of a port. */
struct group {
	struct doctor *doctor;
	const struct eal_args_port *port;
	char number[HOST_ENTRY_MAX];
	bool reported;
};

/* All devices of a group, except for bridges, must belong to VFIO. */
static void check_member(void *context, const char *name)
{
	struct group *group = context;
	char driver[HOST_ENTRY_MAX];

	if (strcmp(name, group->port->name) == 0 ||
		!host_link(host_path(&group->doctor->host, "/sys/bus/pci/devices/%s/driver", name), driver) ||
		strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "pci-stub") == 0 || strcmp(driver, "pcieport") == 0)
		return;
	findings_add(&group->doctor->findings, FINDINGS_FAIL, group->port->name, NULL,
		"its IOMMU group %s also has %s with the driver %s, so VFIO refuses the whole group: bind that device to vfio-pci, too, or use another slot",
		group->number, name, driver);
	group->reported = true;
}

/* Adds the card to `without` if it has no group. */
static void check_iommu_of(struct doctor *doctor, const struct eal_args_port *port, struct doctor_objects *without)
{
	struct group group = {.doctor = doctor, .port = port};
	const char *device;

	if (!host_link(pci(doctor, port, "iommu_group"), group.number)) {
		doctor_objects_add(without, port->name);
		return;
	}
	host_each(pci(doctor, port, "iommu_group/devices"), check_member, &group);
	device = host_path(&doctor->host, "/dev/vfio/%s", group.number);
	if (!group.reported && !doctor->is_copy && !host_exists(device))
		findings_add(&doctor->findings, FINDINGS_FAIL, port->name, NULL,
			"there is no %s, so the director cannot open the card: bind the card to vfio-pci, and pass the device to a container",
			device);
	else if (!group.reported)
		doctor_ok(doctor, port->name, "IOMMU group %s has no device of another driver", group.number);
}

void doctor_iommu(struct doctor *doctor)
{
	struct doctor_objects without = {0};

	if (!doctor_has_pci(doctor))
		doctor_not_needed(doctor, NO_PCI);
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (!port->pci || !host_exists(pci(doctor, port, "")))
			continue;
		if (is_mellanox(doctor, port))
			doctor_ok(doctor, port->name,
				"not needed: DPDK drives this card through the kernel's mlx driver");
		else
			check_iommu_of(doctor, port, &without);
	}
	if (without.count)
		report_no_iommu(doctor, without.text);
}

/* A card that could have VFs and has none. */
struct candidate {
	const struct doctor *doctor;
	char name[HOST_ENTRY_MAX];
};

static void find_candidate(void *context, const char *name)
{
	struct candidate *candidate = context;
	const struct host *host = &candidate->doctor->host;
	long total = 0, now = 0;

	if (*candidate->name || !host_number(host_path(host, "/sys/bus/pci/devices/%s/sriov_totalvfs", name), &total) ||
		!total || !host_number(host_path(host, "/sys/bus/pci/devices/%s/sriov_numvfs", name), &now) || now)
		return;
	snprintf(candidate->name, sizeof(candidate->name), "%s", name);
}

static void report_missing_card(struct doctor *doctor, const struct eal_args_port *port)
{
	struct candidate candidate = {.doctor = doctor};
	const char *command;

	host_each(host_path(&doctor->host, "/sys/bus/pci/devices"), find_candidate, &candidate);
	command = host_command(
		"echo 1 > %s", host_path(&doctor->host, "/sys/bus/pci/devices/%s/sriov_numvfs", candidate.name));
	findings_add(&doctor->findings, FINDINGS_FAIL, port->name, *candidate.name ? command : NULL,
		*candidate.name
			? "there is no such device, so the director does not start; %s can have VFs and has none"
			: "there is no such device, so the director does not start%s: correct -a in the director's options",
		candidate.name);
}

/* Adds a finding if the PF of this VF does not carry packets. Returns whether it did. */
static bool report_pf(struct doctor *doctor, const struct eal_args_port *port)
{
	struct interface interface;
	char name[HOST_ENTRY_MAX];

	if (!host_first(pci(doctor, port, "physfn/net"), name) || !interface_read(&doctor->host, name, &interface) ||
		(interface.up && interface.running))
		return false;
	findings_add(&doctor->findings, FINDINGS_FAIL, port->name,
		interface.up ? NULL : host_command("ip link set dev %s up", name),
		interface.up ? "%s, the PF of this VF, has no carrier, so the VF has no link: see the cable and the switch"
			     : "%s, the PF of this VF, is down, so the VF has no link",
		name);
	return true;
}

static void check_card(struct doctor *doctor, const struct eal_args_port *port)
{
	char driver[HOST_ENTRY_MAX], physical[HOST_ENTRY_MAX];
	const char *command;
	bool bound = host_link(pci(doctor, port, "driver"), driver), mellanox = is_mellanox(doctor, port);
	const char *wanted = mellanox ? "mlx5_core" : "vfio-pci";
	bool vf = host_link(pci(doctor, port, "physfn"), physical);

	command = host_command("modprobe %s; dpdk-devbind.py --bind=%s %s", wanted, wanted, port->name);
	if (mellanox ? strncmp(driver, "mlx", 3) != 0 : strcmp(driver, "vfio-pci") != 0) {
		bool uio = strcmp(driver, "igb_uio") == 0 || strcmp(driver, "uio_pci_generic") == 0;

		findings_add(&doctor->findings, uio ? FINDINGS_WARN : FINDINGS_FAIL, port->name, command,
			uio     ? "it is bound to %s, which has no IOMMU and needs more capabilities than the unit has"
			: bound ? "the kernel's driver %s has it, so DPDK finds no port there"
				: "no driver%s has it, so DPDK finds no port there",
			driver);
	} else if (!vf || !report_pf(doctor, port)) {
		doctor_ok(doctor, port->name, "%s, bound to %s", vf ? "a VF" : "a whole card", driver);
	}
}

static void check_interface(struct doctor *doctor, const struct eal_args_port *port)
{
	struct interface interface;

	if (!interface_read(&doctor->host, port->interface, &interface))
		findings_add(&doctor->findings, FINDINGS_FAIL, port->interface, NULL,
			"there is no such interface in this network namespace, so the director does not start: correct --vdev=%s",
			port->name);
	else if (!interface.up)
		findings_add(&doctor->findings, FINDINGS_FAIL, port->interface,
			host_command("ip link set dev %s up", port->interface),
			"it is down, so the director neither receives nor sends");
	else if (!interface.running)
		findings_add(&doctor->findings, FINDINGS_FAIL, port->interface, NULL,
			"it has no carrier, so the director neither receives nor sends: see the cable, the switch or the other end");
	else
		doctor_ok(doctor, port->interface, "up, used by %s", port->name);
}

void doctor_ports(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (port->pci && !host_exists(pci(doctor, port, "")))
			report_missing_card(doctor, port);
		else if (port->pci)
			check_card(doctor, port);
		else if (*port->interface)
			check_interface(doctor, port);
		else
			doctor_ok(doctor, port->name, "a virtual device without an interface of this host");
	}
	if (!doctor->eal.port_count)
		doctor_ok(doctor, "", "not known: no options of the director name a port");
}
