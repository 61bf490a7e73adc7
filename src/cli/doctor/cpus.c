/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the CPUs that run lcores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"

#define CPU_FOLDER  "/sys/devices/system/cpu"
#define NODE_FOLDER "/sys/devices/system/node"
#define NO_PCI      "no PCI port"
#define SLEEPS      "with idle = \"sleep\" an lcore shares its CPU"

/* Returns false, and adds a finding, if nothing tells the CPUs of the lcores that forward. */
static bool find_workers(struct doctor *doctor, cpu_set_t *workers)
{
	doctor_worker_cpus(doctor, workers);
	if (!CPU_COUNT(workers))
		doctor_ok(doctor, "", "not known: nothing tells on which CPUs the director forwards");
	return CPU_COUNT(workers);
}

/* Returns true, and adds a finding, if lcores of this director need no CPU of their own. */
static bool shares_cpus(struct doctor *doctor)
{
	bool sleeps = doctor->conf_error == 0 && doctor->conf.idle == CONF_IDLE_SLEEP;

	if (!doctor_has_pci(doctor) || sleeps)
		doctor_not_needed(doctor, sleeps ? SLEEPS : NO_PCI);
	return !doctor_has_pci(doctor) || sleeps;
}

/* Adds a finding if two lcores have one CPU. Returns whether it did. */
static bool report_shared(struct doctor *doctor)
{
	const struct eal_args *eal = &doctor->eal;
	char text[CPU_LIST_TEXT_MAX];

	for (size_t i = 0; i < eal->lcore_count; i++)
		for (size_t j = i + 1; j < eal->lcore_count; j++) {
			cpu_set_t both;

			CPU_AND(&both, &eal->lcores[i].cpus, &eal->lcores[j].cpus);
			/* Several CPUs in common leave one for each. */
			if (CPU_COUNT(&both) != 1 || !CPU_EQUAL(&eal->lcores[i].cpus, &eal->lcores[j].cpus))
				continue;
			findings_add(&doctor->findings, FINDINGS_WARN, cpu_list_text(&both, text), NULL,
				"lcores %u and %u share this CPU, so each stops while the other runs: give each its own with -l",
				eal->lcores[i].id, eal->lcores[j].id);
			return true;
		}
	return false;
}

/* Adds a finding if the control group limits CPU time. Only that of this process can be seen in a container. */
static bool report_quota(struct doctor *doctor)
{
	char line[HOST_LINE_MAX];
	long quota, period;

	if (!host_line(host_path(&doctor->host, "/sys/fs/cgroup/cpu.max"), line) ||
		sscanf(line, "%ld %ld", &quota, &period) != 2)
		return false;
	findings_add(&doctor->findings, FINDINGS_WARN, "/sys/fs/cgroup/cpu.max", NULL,
		"the control group gets %ld of %ld microseconds of CPU time, and then stops the lcores until the next period: remove the limit of the container",
		quota, period);
	return true;
}

void doctor_cpus(struct doctor *doctor)
{
	const struct eal_args *eal = &doctor->eal;
	cpu_set_t online, all, missing, workers;
	char text[CPU_LIST_TEXT_MAX];
	bool reported;

	CPU_ZERO(&all);
	for (size_t i = 0; i < eal->lcore_count; i++)
		CPU_OR(&all, &all, &eal->lcores[i].cpus);
	if (eal->lcores_unknown || !eal->lcore_count ||
		!host_cpus(host_path(&doctor->host, CPU_FOLDER "/online"), &online)) {
		doctor_ok(doctor, "", "not known: the options of the director or the CPUs of this host cannot be read");
		return;
	}
	missing = cpu_list_without(&all, &online);
	if (CPU_COUNT(&missing)) {
		findings_add(&doctor->findings, FINDINGS_FAIL, cpu_list_text(&missing, text), NULL,
			"this host has no such CPU online, so the director does not start: correct -l in its options");
		return;
	}
	reported = report_shared(doctor);
	reported |= report_quota(doctor);
	if (!reported && find_workers(doctor, &workers))
		doctor_ok(doctor, cpu_list_text(&workers, text), "the lcores that forward run here");
}

/* Adds a finding if the kernel's list lacks CPUs that forward. Returns whether it did. */
static bool report_not_in(struct doctor *doctor, const char *file, const char *arguments, const char *why)
{
	cpu_set_t workers, listed, missing;
	char text[CPU_LIST_TEXT_MAX], all[CPU_LIST_TEXT_MAX], line[HOST_LINE_MAX];
	const char *command;
	bool given;

	doctor_worker_cpus(doctor, &workers);
	host_cpus(host_path(&doctor->host, CPU_FOLDER "/%s", file), &listed);
	missing = cpu_list_without(&workers, &listed);
	if (!CPU_COUNT(&missing))
		return false;
	cpu_list_text(&workers, all);
	/* A second list would replace the first one. */
	given = host_line(host_path(&doctor->host, "/proc/cmdline"), line) &&
		(strstr(line, "isolcpus=") || strstr(line, "nohz_full="));
	command = host_command(
		"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&isolcpus=%s nohz_full=%s rcu_nocbs=%s /' %s && update-grub", all,
		all, all, host_path(&doctor->host, "/etc/default/grub"));
	findings_add(&doctor->findings, FINDINGS_WARN, cpu_list_text(&missing, text), given ? NULL : command,
		"%s: %s CPUs %s in the kernel's command line, and restart this host", why, arguments, all);
	return true;
}

void doctor_isolation(struct doctor *doctor)
{
	cpu_set_t workers;
	char text[CPU_LIST_TEXT_MAX];

	if (shares_cpus(doctor) || !find_workers(doctor, &workers))
		return;
	if (doctor_ignored_argument(doctor, NULL))
		doctor_ok(doctor, cpu_list_text(&workers, text), "not known: the check kernel has a finding");
	else if (!report_not_in(doctor, "isolated", "isolcpus, nohz_full and rcu_nocbs must have",
			 "the kernel can run other programs here, and packets wait for milliseconds meanwhile") &&
		 !report_not_in(doctor, "nohz_full", "nohz_full and rcu_nocbs must have",
			 "the kernel's timer interrupts the lcore 100 to 1000 times a second"))
		doctor_ok(doctor, cpu_list_text(&workers, text), "isolated, without timer interrupts");
}

/* Reads the governor of a CPU. Returns false if the host does not change the CPU's speed. */
static bool read_governor(const struct doctor *doctor, int cpu, char governor[HOST_LINE_MAX])
{
	return host_line(host_path(&doctor->host, CPU_FOLDER "/cpu%d/cpufreq/scaling_governor", cpu), governor);
}

void doctor_governor(struct doctor *doctor)
{
	char governor[HOST_LINE_MAX], other[HOST_LINE_MAX] = "", text[CPU_LIST_TEXT_MAX], list[FINDINGS_COMMAND_MAX] = "";
	cpu_set_t workers, slow;
	bool known = false;

	if (shares_cpus(doctor) || !find_workers(doctor, &workers))
		return;
	CPU_ZERO(&slow);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &workers) || !read_governor(doctor, cpu, governor))
			continue;
		known = true;
		if (strcmp(governor, "performance") == 0)
			continue;
		CPU_SET(cpu, &slow);
		strcpy(other, governor);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %d", cpu);
	}
	if (CPU_COUNT(&slow))
		findings_add(&doctor->findings, FINDINGS_WARN, cpu_list_text(&slow, text),
			host_command("for cpu in%s; do echo performance > %s; done", list,
				host_path(&doctor->host, CPU_FOLDER "/cpu$cpu/cpufreq/scaling_governor")),
			"the governor is %s, so the CPU may be slow when a burst of packets arrives", other);
	else
		doctor_ok(doctor, cpu_list_text(&workers, text),
			known ? "the governor is performance"
			      : "not needed: this host does not change the speed of its CPUs");
}

void doctor_numa(struct doctor *doctor)
{
	cpu_set_t workers, near, node_cpus, far;
	char text[CPU_LIST_TEXT_MAX], nodes[CPU_LIST_TEXT_MAX];
	bool known = false;

	if (!doctor_has_pci(doctor)) {
		doctor_not_needed(doctor, NO_PCI);
		return;
	}
	CPU_ZERO(&near);
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		const struct eal_args_port *port = &doctor->eal.ports[i];
		long node = -1;

		if (!port->pci ||
			!host_number(host_path(&doctor->host, "/sys/bus/pci/devices/%s/numa_node", port->name), &node) ||
			node < 0 ||
			!host_cpus(host_path(&doctor->host, NODE_FOLDER "/node%ld/cpulist", node), &node_cpus))
			continue;
		CPU_OR(&near, &near, &node_cpus);
		known = true;
	}
	if (!known) {
		doctor_not_needed(doctor, "this host has one NUMA node, or does not tell that of its cards");
		return;
	}
	if (!find_workers(doctor, &workers))
		return;
	far = cpu_list_without(&workers, &near);
	if (CPU_COUNT(&far))
		findings_add(&doctor->findings, FINDINGS_WARN, cpu_list_text(&far, text), NULL,
			"the CPU is on another NUMA node than the cards, so each packet crosses the link between the nodes: choose CPUs of %s with -l",
			cpu_list_text(&near, nodes));
	else
		doctor_ok(doctor, cpu_list_text(&workers, text), "on the NUMA node of the cards");
}
