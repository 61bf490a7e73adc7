/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of memory. Hugepages are never swapped and not transparent, so neither swap nor THP matters to a director that
 * has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "program/host/hugepages.h"

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

/* Returns the NUMA node of a card, or -1. */
static long node_of(const struct doctor *doctor, const struct eal_args_port *port)
{
	long node = -1;

	return port->pci && host_number(host_path(&doctor->host, "/sys/bus/pci/devices/%s/numa_node", port->name), &node)
		       ? node
		       : -1;
}

/* Adds one finding for all cards of a node without hugepages, if this is the first of them. Returns whether it did. */
static bool report_node(struct doctor *doctor, size_t first)
{
	long node = node_of(doctor, &doctor->eal.ports[first]);
	struct doctor_objects cards = {0};
	const char *command;
	char folder[128];

	if (node < 0)
		return false;
	snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%ld/hugepages", node);
	if (!host_exists(host_path(&doctor->host, "%s", folder)) || hugepages_count(&doctor->host, folder).total_kb)
		return false;
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		if (node_of(doctor, &doctor->eal.ports[i]) != node)
			continue;
		if (i < first)
			return false;
		doctor_objects_add(&cards, doctor->eal.ports[i].name);
	}
	command = host_command("echo 512 > %s", host_path(&doctor->host, "%s/hugepages-2048kB/nr_hugepages", folder));
	findings_add(&doctor->findings, FINDINGS_WARN, cards.text, command,
		"NUMA node %ld of the card has no hugepages, so every frame is in memory of another node", node);
	return true;
}

static void report_pages(struct doctor *doctor, const struct hugepages *pages)
{
	bool reported = false;

	if (!pages->total_kb)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", HUGEPAGES_COMMAND, HUGEPAGES_NONE);
	else if (!doctor->running && !doctor->is_copy && !pages->unused_kb)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL,
			"all %ld MB of hugepages are in use by other programs, so the director does not start: end them, or raise vm.nr_hugepages",
			pages->total_kb / 1024);
	else if (pages->total_kb / 1024 < (long)doctor->eal.memory_mb)
		findings_add(&doctor->findings, FINDINGS_FAIL, "", NULL,
			"%ld MB of hugepages are reserved, and -m asks for %u MB, so the director does not start: raise vm.nr_hugepages",
			pages->total_kb / 1024, doctor->eal.memory_mb);
	else if (!doctor->eal.in_memory && !is_mounted(doctor))
		findings_add(&doctor->findings, FINDINGS_FAIL, "/dev/hugepages",
			"mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages",
			"no hugetlbfs is mounted, so the director does not start");
	else {
		for (size_t i = 0; i < doctor->eal.port_count; i++)
			reported |= report_node(doctor, i);
		if (!reported)
			doctor_ok(doctor, "", "%ld MB are reserved, %ld MB of them are free", pages->total_kb / 1024,
				pages->unused_kb / 1024);
	}
}

void doctor_hugepages(struct doctor *doctor)
{
	struct hugepages pages = hugepages_count(&doctor->host, HUGEPAGES_FOLDER);

	if (!doctor->eal.no_huge)
		report_pages(doctor, &pages);
	else if (doctor_has_pci(doctor))
		findings_add(&doctor->findings, FINDINGS_WARN, "", NULL,
			"the director has --no-huge, so the CPU looks up many more pages for the frames of a card: remove it, and reserve hugepages");
	else
		doctor_not_needed(doctor, "the director has --no-huge, and no PCI port");
}
