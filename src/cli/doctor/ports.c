/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel, and of the cards and interfaces that DPDK drives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "common/text.h"
#include "program/host/interface.h"

#define MELLANOX_ID "0x15b3"

#define BIND "modprobe {2}; dpdk-devbind.py --bind={2} {0}"

static const struct finding ignored_argument = {FINDINGS_WARN, NULL,
	"the kernel's command line has {0}={1}, but the kernel does not use it, so {2}: correct it in /etc/default/grub"};
static const struct finding no_iommu_mode = {FINDINGS_WARN, NULL,
	"VFIO works without IOMMU, so the card can write to all memory of this host, and the unit needs CAP_SYS_RAWIO and CAP_SYS_ADMIN: enable VT-d or AMD-Vi in the firmware"};
static const struct finding no_group = {FINDINGS_FAIL,
	"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&intel_iommu=on iommu=pt /' {1} && update-grub",
	"the card has no IOMMU group, so vfio-pci refuses it: also enable VT-d or AMD-Vi in the firmware, and restart this host"};
static const struct finding no_group_but_asked = {FINDINGS_FAIL, NULL,
	"the card has no IOMMU group although the kernel's command line asks for one, so vfio-pci refuses it: enable VT-d or AMD-Vi in the firmware"};
static const struct finding shared_group = {FINDINGS_FAIL, NULL,
	"its IOMMU group {1} also has {2} with the driver {3}, so VFIO refuses the whole group: bind that device to vfio-pci, too, or use another slot"};
static const struct finding no_device = {FINDINGS_FAIL, NULL,
	"there is no {1}, so the director cannot open the card: bind the card to vfio-pci, and pass the device to a container"};
static const struct finding no_card = {FINDINGS_FAIL, NULL,
	"there is no such device, so the director does not start: correct -a in the director's options"};
static const struct finding no_vf = {FINDINGS_FAIL, "echo 1 > {2}",
	"there is no such device, so the director does not start; {1} can have VFs and has none"};
static const struct finding pf_down = {
	FINDINGS_FAIL, "ip link set dev {1} up", "{1}, the PF of this VF, is down, so the VF has no link"};
static const struct finding pf_no_carrier = {FINDINGS_FAIL, NULL,
	"{1}, the PF of this VF, has no carrier, so the VF has no link: see the cable and the switch"};
static const struct finding bound_to_uio = {
	FINDINGS_WARN, BIND, "it is bound to {1}, which has no IOMMU and needs more capabilities than the unit has"};
static const struct finding other_driver = {
	FINDINGS_FAIL, BIND, "the kernel's driver {1} has it, so DPDK finds no port there"};
static const struct finding no_driver = {FINDINGS_FAIL, BIND, "no driver has it, so DPDK finds no port there"};
static const struct finding no_interface = {FINDINGS_FAIL, NULL,
	"there is no such interface in this network namespace, so the director does not start: correct --vdev={1}"};
static const struct finding down = {
	FINDINGS_FAIL, "ip link set dev {0} up", "it is down, so the director neither receives nor sends"};
static const struct finding no_carrier = {FINDINGS_FAIL, NULL,
	"it has no carrier, so the director neither receives nor sends: see the cable, the switch or the other end"};

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

void doctor_kernel(void *subject)
{
	static const char *const names[] = {
		"isolcpus", "nohz_full", "rcu_nocbs", "intel_iommu", "iommu", "amd_iommu", "hugepages", "hugepagesz"};
	const struct doctor *doctor = subject;
	char line[HOST_LINE_MAX], release[HOST_LINE_MAX], value[HOST_ENTRY_MAX], text[1024] = "";
	const char *ignored, *why;

	if (!host_line(host_path(&doctor->host, "/proc/cmdline"), line)) {
		findings_ok("", "not known: there is no /proc/cmdline");
		return;
	}
	host_line(host_path(&doctor->host, "/proc/sys/kernel/osrelease"), release);
	ignored = doctor_ignored_argument(doctor, &why);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*argument(line, names[i], value))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s=%.60s", names[i], value);
	if (ignored)
		findings_add(&ignored_argument, ignored, argument(line, ignored, value), why);
	else
		findings_ok("", "Linux %s,%s", *release ? release : "unknown",
			*text ? text : " no arguments for CPUs, IOMMU or hugepages");
}

static bool is_mellanox(const struct doctor *doctor, const struct eal_args_port *port)
{
	char vendor[HOST_LINE_MAX];

	return host_line(doctor_pci(doctor, port, "vendor"), vendor) && strcmp(vendor, MELLANOX_ID) == 0;
}

/* Adds one finding for all cards without an IOMMU group. */
static void report_no_iommu(const struct doctor *doctor, const char *cards)
{
	char mode[HOST_LINE_MAX], line[HOST_LINE_MAX], value[HOST_ENTRY_MAX];
	bool asked;

	host_line(host_path(&doctor->host, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"), mode);
	host_line(host_path(&doctor->host, "/proc/cmdline"), line);
	asked = *argument(line, "intel_iommu", value) && strcmp(value, "off") != 0;
	asked |= *argument(line, "iommu", value) && strcmp(value, "off") != 0;
	findings_add(strcmp(mode, "Y") == 0 ? &no_iommu_mode
		     : asked                ? &no_group_but_asked
					    : &no_group,
		cards, host_path(&doctor->host, "/etc/default/grub"));
}

/* What is in the IOMMU group of a port. */
struct group {
	const struct doctor *doctor;
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
	findings_add(&shared_group, group->port->name, group->number, name, driver);
	group->reported = true;
}

/* Adds the card to `without` if it has no group. */
static void check_iommu_of(const struct doctor *doctor, const struct eal_args_port *port, struct text_list *without)
{
	struct group group = {.doctor = doctor, .port = port};
	const char *device;

	if (!host_link(doctor_pci(doctor, port, "iommu_group"), group.number)) {
		text_list_add(without, port->name);
		return;
	}
	host_each(doctor_pci(doctor, port, "iommu_group/devices"), check_member, &group);
	device = host_path(&doctor->host, "/dev/vfio/%s", group.number);
	if (!group.reported && !doctor->is_copy && !host_exists(device))
		findings_add(&no_device, port->name, device);
	else if (!group.reported)
		findings_ok(port->name, "IOMMU group %s has no device of another driver", group.number);
}

void doctor_iommu(void *subject)
{
	const struct doctor *doctor = subject;
	struct text_list without = {0};

	if (!doctor_has_pci(doctor))
		findings_ok("", "not needed: " DOCTOR_NO_PCI);
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (!port->pci || !host_exists(doctor_pci(doctor, port, "")))
			continue;
		if (is_mellanox(doctor, port))
			findings_ok(port->name, "not needed: DPDK drives this card through the kernel's mlx driver");
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

static void report_missing_card(const struct doctor *doctor, const struct eal_args_port *port)
{
	struct candidate candidate = {.doctor = doctor};

	host_each(host_path(&doctor->host, "/sys/bus/pci/devices"), find_candidate, &candidate);
	findings_add(*candidate.name ? &no_vf : &no_card, port->name, candidate.name,
		host_path(&doctor->host, "/sys/bus/pci/devices/%s/sriov_numvfs", candidate.name));
}

/* Adds a finding if the PF of this VF does not carry packets. Returns whether it did. */
static bool report_pf(const struct doctor *doctor, const struct eal_args_port *port)
{
	struct interface interface;
	char name[HOST_ENTRY_MAX];

	if (!host_first(doctor_pci(doctor, port, "physfn/net"), name) ||
		!interface_read(&doctor->host, name, &interface) || (interface.up && interface.running))
		return false;
	findings_add(interface.up ? &pf_no_carrier : &pf_down, port->name, name);
	return true;
}

static void check_card(const struct doctor *doctor, const struct eal_args_port *port)
{
	char driver[HOST_ENTRY_MAX], physical[HOST_ENTRY_MAX];
	bool bound = host_link(doctor_pci(doctor, port, "driver"), driver), mellanox = is_mellanox(doctor, port);
	bool vf = host_link(doctor_pci(doctor, port, "physfn"), physical);
	bool uio = strcmp(driver, "igb_uio") == 0 || strcmp(driver, "uio_pci_generic") == 0;

	if (mellanox ? strncmp(driver, "mlx", 3) != 0 : strcmp(driver, "vfio-pci") != 0)
		findings_add(uio     ? &bound_to_uio
			     : bound ? &other_driver
				     : &no_driver,
			port->name, driver, mellanox ? "mlx5_core" : "vfio-pci");
	else if (!vf || !report_pf(doctor, port))
		findings_ok(port->name, "%s, bound to %s", vf ? "a VF" : "a whole card", driver);
}

static void check_interface(const struct doctor *doctor, const struct eal_args_port *port)
{
	struct interface interface;

	if (!interface_read(&doctor->host, port->interface, &interface))
		findings_add(&no_interface, port->interface, port->name);
	else if (!interface.up || !interface.running)
		findings_add(interface.up ? &no_carrier : &down, port->interface);
	else
		findings_ok(port->interface, "up, used by %s", port->name);
}

void doctor_ports(void *subject)
{
	const struct doctor *doctor = subject;

	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];

		if (port->pci && !host_exists(doctor_pci(doctor, port, "")))
			report_missing_card(doctor, port);
		else if (port->pci)
			check_card(doctor, port);
		else if (*port->interface)
			check_interface(doctor, port);
		else
			findings_ok(port->name, "a virtual device without an interface of this host");
	}
	if (!doctor->eal.port_count)
		findings_ok("", "not known: no options of the director name a port");
}
