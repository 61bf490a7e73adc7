/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_user.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices"

#define MAX_NODES 4

/* The files in /dev through which a process drives a VF. "": none. */
struct nodes {
	char names[MAX_NODES][HOST_ENTRY_MAX];
};

struct search {
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
	struct search *search = context;
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
	struct search *search = context;

	if (search->user->pid || strspn(name, "0123456789") != strlen(name))
		return;
	search->process = name;
	host_each(host_path(search->host, "/proc/%s/fd", name), examine_descriptor, search);
}

void vf_user_find(const struct host *host, char (*vfs)[VF_PCI_MAX], unsigned count, struct vf_user *user)
{
	static struct nodes nodes[VF_CONF_MAX_VFS];
	struct search search = {.host = host, .vfs = vfs, .nodes = nodes, .count = count, .user = user};
	bool any = false;

	*user = (struct vf_user){0};
	for (unsigned i = 0; i < count; i++)
		any |= find_nodes(host, vfs[i], &nodes[i]);
	if (any)
		host_each(host_path(host, "/proc"), examine_process, &search);
}
