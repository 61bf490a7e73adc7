/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the CPUs that run lcores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"

#define CPU_FOLDER  "/sys/devices/system/cpu"
#define NODE_FOLDER "/sys/devices/system/node"
#define LIST_MAX    512
#define SLEEPS      "with idle = \"sleep\" an lcore shares its CPU"

#define ISOLATE "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&isolcpus={1} nohz_full={1} rcu_nocbs={1} /' {2} && update-grub"

static const struct finding shared = {FINDINGS_WARN, NULL,
	"lcores {1} and {2} share this CPU, so each stops while the other runs: give each its own with -l"};
static const struct finding limited = {FINDINGS_WARN, NULL,
	"the control group gets {1} of {2} microseconds of CPU time, and then stops the lcores until the next period: remove the limit of the container"};
static const struct finding offline = {FINDINGS_FAIL, NULL,
	"this host has no such CPU online, so the director does not start: correct -l in its options"};
/* Without the command if the kernel's command line has such a list, because a second one would replace it. */
static const struct finding not_isolated = {FINDINGS_WARN, ISOLATE,
	"the kernel can run other programs here, and packets wait for milliseconds meanwhile: isolcpus, nohz_full and rcu_nocbs must have CPUs {1} in the kernel's command line, and restart this host"};
static const struct finding timer = {FINDINGS_WARN, ISOLATE,
	"the kernel's timer interrupts the lcore 100 to 1000 times a second: nohz_full and rcu_nocbs must have CPUs {1} in the kernel's command line, and restart this host"};
static const struct finding slow_governor = {FINDINGS_WARN, "for cpu in{2}; do echo performance > {3}; done",
	"the governor is {1}, so the CPU may be slow when a burst of packets arrives"};
static const struct finding far_node = {FINDINGS_WARN, NULL,
	"the CPU is on another NUMA node than the cards, so each packet crosses the link between the nodes: choose CPUs of {1} with -l"};

/* Returns false, and adds a finding, if nothing tells the CPUs of the lcores that forward. */
static bool find_workers(const struct doctor *doctor, cpu_set_t *workers)
{
	doctor_worker_cpus(doctor, workers);
	if (!CPU_COUNT(workers))
		findings_ok("", "not known: nothing tells on which CPUs the director forwards");
	return CPU_COUNT(workers);
}

/* Returns true, and adds a finding, if lcores of this director need no CPU of their own. */
static bool shares_cpus(const struct doctor *doctor)
{
	bool sleeps = doctor->conf_error == 0 && doctor->conf.idle == CONF_IDLE_SLEEP;

	if (!doctor_has_pci(doctor) || sleeps)
		findings_ok("", "not needed: %s", sleeps ? SLEEPS : DOCTOR_NO_PCI);
	return !doctor_has_pci(doctor) || sleeps;
}

/* Adds a finding about the first two lcores that have one CPU. */
static void report_shared(const struct eal_args *eal)
{
	char text[CPU_LIST_TEXT_MAX];

	for (size_t i = 0; i < eal->lcore_count; i++)
		for (size_t j = i + 1; j < eal->lcore_count; j++) {
			/* Several CPUs in common leave one for each. */
			if (CPU_COUNT(&eal->lcores[i].cpus) != 1 ||
				!CPU_EQUAL(&eal->lcores[i].cpus, &eal->lcores[j].cpus))
				continue;
			findings_add(&shared, cpu_list_text(&eal->lcores[i].cpus, text),
				findings_value("%u", eal->lcores[i].id), findings_value("%u", eal->lcores[j].id));
			return;
		}
}

/* Adds a finding if the control group limits CPU time. Only that of this process can be seen in a container. */
static void report_quota(const struct doctor *doctor)
{
	char line[HOST_LINE_MAX];
	long quota, period;

	if (host_line(host_path(&doctor->host, "/sys/fs/cgroup/cpu.max"), line) &&
		sscanf(line, "%ld %ld", &quota, &period) == 2)
		findings_add(&limited, "/sys/fs/cgroup/cpu.max", findings_value("%ld", quota),
			findings_value("%ld", period));
}

void doctor_cpus(void *subject)
{
	const struct doctor *doctor = subject;
	const struct eal_args *eal = &doctor->eal;
	cpu_set_t online, all, missing, workers;
	char text[CPU_LIST_TEXT_MAX];

	CPU_ZERO(&all);
	for (size_t i = 0; i < eal->lcore_count; i++)
		CPU_OR(&all, &all, &eal->lcores[i].cpus);
	if (eal->lcores_unknown || !eal->lcore_count ||
		!host_cpus(host_path(&doctor->host, CPU_FOLDER "/online"), &online)) {
		findings_ok("", "not known: the options of the director or the CPUs of this host cannot be read");
		return;
	}
	missing = cpu_list_without(&all, &online);
	if (CPU_COUNT(&missing)) {
		findings_add(&offline, cpu_list_text(&missing, text));
		return;
	}
	report_shared(eal);
	report_quota(doctor);
	if (findings_none() && find_workers(doctor, &workers))
		findings_ok(cpu_list_text(&workers, text), "the lcores that forward run here");
}

/* Adds the finding if the kernel's list lacks CPUs that forward. */
static void report_not_in(const struct doctor *doctor, const char *file, struct finding finding)
{
	cpu_set_t workers, listed, missing;
	char text[CPU_LIST_TEXT_MAX], all[CPU_LIST_TEXT_MAX], line[HOST_LINE_MAX];

	doctor_worker_cpus(doctor, &workers);
	host_cpus(host_path(&doctor->host, CPU_FOLDER "/%s", file), &listed);
	missing = cpu_list_without(&workers, &listed);
	if (!CPU_COUNT(&missing))
		return;
	if (host_line(host_path(&doctor->host, "/proc/cmdline"), line) &&
		(strstr(line, "isolcpus=") || strstr(line, "nohz_full=")))
		finding.command = NULL;
	findings_add(&finding, cpu_list_text(&missing, text), cpu_list_text(&workers, all),
		host_path(&doctor->host, "/etc/default/grub"));
}

void doctor_isolation(void *subject)
{
	const struct doctor *doctor = subject;
	cpu_set_t workers;
	char text[CPU_LIST_TEXT_MAX];

	if (shares_cpus(doctor) || !find_workers(doctor, &workers))
		return;
	if (doctor_ignored_argument(doctor, NULL)) {
		findings_ok(cpu_list_text(&workers, text), "not known: the check kernel has a finding");
		return;
	}
	report_not_in(doctor, "isolated", not_isolated);
	if (findings_none())
		report_not_in(doctor, "nohz_full", timer);
	if (findings_none())
		findings_ok(cpu_list_text(&workers, text), "isolated, without timer interrupts");
}

/* Reads the governor of a CPU. Returns false if the host does not change the CPU's speed. */
static bool read_governor(const struct doctor *doctor, int cpu, char governor[HOST_LINE_MAX])
{
	return host_line(host_path(&doctor->host, CPU_FOLDER "/cpu%d/cpufreq/scaling_governor", cpu), governor);
}

void doctor_governor(void *subject)
{
	const struct doctor *doctor = subject;
	char governor[HOST_LINE_MAX], other[HOST_LINE_MAX] = "", text[CPU_LIST_TEXT_MAX], list[LIST_MAX] = "";
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
		findings_add(&slow_governor, cpu_list_text(&slow, text), other, list,
			host_path(&doctor->host, CPU_FOLDER "/cpu$cpu/cpufreq/scaling_governor"));
	else
		findings_ok(cpu_list_text(&workers, text), "%s",
			known ? "the governor is performance"
			      : "not needed: this host does not change the speed of its CPUs");
}

void doctor_numa(void *subject)
{
	const struct doctor *doctor = subject;
	cpu_set_t workers, near, node_cpus, far;
	char text[CPU_LIST_TEXT_MAX], nodes[CPU_LIST_TEXT_MAX];
	bool known = false;

	CPU_ZERO(&near);
	for (size_t i = 0; i < doctor->eal.port_count; i++) {
		long node = doctor_node(doctor, &doctor->eal.ports[i]);

		if (node < 0 || !host_cpus(host_path(&doctor->host, NODE_FOLDER "/node%ld/cpulist", node), &node_cpus))
			continue;
		CPU_OR(&near, &near, &node_cpus);
		known = true;
	}
	if (!known) {
		findings_ok("", "not needed: %s",
			doctor_has_pci(doctor) ? "this host has one NUMA node, or does not tell that of its cards"
					       : DOCTOR_NO_PCI);
		return;
	}
	if (!find_workers(doctor, &workers))
		return;
	far = cpu_list_without(&workers, &near);
	if (CPU_COUNT(&far))
		findings_add(&far_node, cpu_list_text(&far, text), cpu_list_text(&near, nodes));
	else
		findings_ok(cpu_list_text(&workers, text), "on the NUMA node of the cards");
}
