/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of memory. Hugepages are never swapped and not transparent, so neither swap nor THP matters to a director that
 * has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "common/text.h"
#include "program/host/hugepages.h"

static const struct finding all_used = {FINDINGS_FAIL, NULL,
	"all {1} MB of hugepages are in use by other programs, so the director does not start: end them, or raise vm.nr_hugepages"};
static const struct finding too_few = {FINDINGS_FAIL, NULL,
	"{1} MB of hugepages are reserved, and -m asks for {2} MB, so the director does not start: raise vm.nr_hugepages"};
static const struct finding not_mounted = {FINDINGS_FAIL, "mkdir -p {0} && mount -t hugetlbfs hugetlbfs {0}",
	"no hugetlbfs is mounted, so the director does not start"};
static const struct finding node_without = {FINDINGS_WARN, "echo 512 > {2}/hugepages-2048kB/nr_hugepages",
	"NUMA node {1} of the card has no hugepages, so every frame is in memory of another node"};
static const struct finding no_huge = {FINDINGS_WARN, NULL,
	"the director has --no-huge, so the CPU looks up many more pages for the frames of a card: remove it, and reserve hugepages"};

static bool is_mounted(const struct doctor *doctor)
{
	FILE *file = host_open(host_path(&doctor->host, "/proc/mounts"));
	char line[HOST_LINE_MAX];
	bool mounted = false;

	while (file && !mounted && fgets(line, sizeof(line), file))
		mounted = strstr(line, " hugetlbfs ");
	if (file)
		fclose(file);
	return mounted;
}

/* Adds one finding for all cards of a node without hugepages, if this is the first of them. */
static void report_node(const struct doctor *doctor, size_t first)
{
	long node = doctor_node(doctor, &doctor->eal.ports[first]);
	struct text_list cards = {0};
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%ld/hugepages", node);
	if (node < 0 || !host_exists(host_path(&doctor->host, "%s", folder)) ||
		hugepages_count(&doctor->host, folder).total_kb)
		return;
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		if (doctor_node(doctor, &doctor->eal.ports[i]) != node)
			continue;
		if (i < first)
			return;
		text_list_add(&cards, doctor->eal.ports[i].name);
	}
	findings_add(&node_without, cards.text, findings_value("%ld", node), host_path(&doctor->host, "%s", folder));
}

static void report_pages(const struct doctor *doctor, const struct hugepages *pages)
{
	const char *total = findings_value("%ld", pages->total_kb / 1024);

	if (!pages->total_kb)
		findings_add(&hugepages_none, "");
	else if (!doctor->running && !doctor->is_copy && !pages->unused_kb)
		findings_add(&all_used, "", total);
	else if (pages->total_kb / 1024 < (long)doctor->eal.memory_mb)
		findings_add(&too_few, "", total, findings_value("%u", doctor->eal.memory_mb));
	else if (!doctor->eal.in_memory && !is_mounted(doctor))
		findings_add(&not_mounted, "/dev/hugepages");
	if (!findings_none())
		return;
	for (size_t i = 0; i < doctor->eal.port_count; i++)
		report_node(doctor, i);
	if (findings_none())
		findings_ok("", "%s MB are reserved, %ld MB of them are free", total, pages->unused_kb / 1024);
}

void doctor_hugepages(void *subject)
{
	const struct doctor *doctor = subject;
	struct hugepages pages = hugepages_count(&doctor->host, HUGEPAGES_FOLDER);

	if (!doctor->eal.no_huge)
		report_pages(doctor, &pages);
	else if (doctor_has_pci(doctor))
		findings_add(&no_huge, "");
	else
		findings_ok("", "not needed: the director has --no-huge, and " DOCTOR_NO_PCI);
}
