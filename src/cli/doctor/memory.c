/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of memory. Hugepages are never swapped and not transparent, so neither swap nor THP matters to a director that has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"

/* The hugepages of all sizes, in kB. */
struct pages {
	const struct doctor *doctor;
	const char *folder; /* has a folder hugepages-SIZEkB for each size */
	long total, unused;
};

static void add_size(void *context, const char *name)
{
	struct pages *pages = context;
	long size = 0, total = 0, unused = 0;

	if (sscanf(name, "hugepages-%ldkB", &size) != 1)
		return;
	host_number(host_path(&pages->doctor->host, "%s/%s/nr_hugepages", pages->folder, name), &total);
	host_number(host_path(&pages->doctor->host, "%s/%s/free_hugepages", pages->folder, name), &unused);
	pages->total += total * size;
	pages->unused += unused * size;
}

static struct pages count_pages(const struct doctor *doctor, const char *folder)
{
	struct pages pages = {.doctor = doctor, .folder = folder};

	host_each(host_path(&doctor->host, "%s", folder), add_size, &pages);
	return pages;
}

static bool is_mounted(const struct doctor *doctor)
{
	FILE *file = host_open(host_path(&doctor->host, "/proc/mounts"));
	char line[HOST_LINE_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " hugetlbfs ");
	if (file)
		fclose(file);
	return found;
}

/* Adds a finding if the memory of a port's node has no hugepages. Returns whether it did. */
static bool report_node(struct doctor *doctor, const struct eal_args_port *port)
{
	char folder[128];
	const char *command;
	long node = -1;

	if (!port->pci || !host_number(host_path(&doctor->host, "/sys/bus/pci/devices/%s/numa_node", port->name), &node) ||
		node < 0)
		return false;
	snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%ld/hugepages", node);
	if (!host_exists(host_path(&doctor->host, "%s", folder)) || count_pages(doctor, folder).total)
		return false;
	command = host_command("echo 512 > %s", host_path(&doctor->host, "%s/hugepages-2048kB/nr_hugepages", folder));
	findings_add(&doctor->findings, FINDINGS_WARN, port->name, command,
		"its NUMA node %ld has no hugepages, so every frame is in memory of another node", node);
	return true;
}

static void report_pages(struct doctor *doctor, const struct pages *pages)
{
	bool reported = false;

	if (!pages->total)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", "sysctl -w vm.nr_hugepages=512",
			"no hugepages are reserved, so the director does not start: make the number permanent in /etc/sysctl.d");
	else if (!doctor->running && !doctor->is_copy && !pages->unused)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL,
			"all %ld MB of hugepages are in use by other programs, so the director does not start: end them, or raise vm.nr_hugepages",
			pages->total / 1024);
	else if (pages->total / 1024 < (long)doctor->eal.memory_mb)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL,
			"%ld MB of hugepages are reserved, and -m asks for %u MB, so the director does not start: raise vm.nr_hugepages",
			pages->total / 1024, doctor->eal.memory_mb);
	else if (!doctor->eal.in_memory && !is_mounted(doctor))
		findings_add(&doctor->findings, FINDINGS_FAIL, "/dev/hugepages",
			"mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages",
			"no hugetlbfs is mounted, so the director does not start");
	else {
		for (size_t i = 0; i < doctor->eal.port_count; i++)
			reported |= report_node(doctor, &doctor->eal.ports[i]);
		if (!reported)
			doctor_ok(doctor, "", "%ld MB are reserved, %ld MB of them are free", pages->total / 1024,
				pages->unused / 1024);
	}
}

void doctor_hugepages(struct doctor *doctor)
{
	struct pages pages = count_pages(doctor, "/sys/kernel/mm/hugepages");

	if (!doctor->eal.no_huge)
		report_pages(doctor, &pages);
	else if (doctor_has_pci(doctor))
		findings_add(&doctor->findings, FINDINGS_WARN, "", NULL,
			"the director has --no-huge, so the CPU looks up many more pages for the frames of a card: remove it, and reserve hugepages");
	else
		doctor_not_needed(doctor, "the director has --no-huge, and no PCI port");
}
