/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_user.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices"

struct search {
	const struct host *host;
	char (*vfs)[VF_PCI_MAX];
	char (*nodes)[HOST_ENTRY_MAX]; /* device nodes of the VFs, in the same order; "": none */
	unsigned count;
	const char *process;
	struct vf_user *user;
};

/* Writes the name of the file in /dev through which a process drives the VF. */
static void find_node(const struct host *host, const char *vf, char node[HOST_ENTRY_MAX])
{
	char name[HOST_ENTRY_MAX];

	node[0] = '\0';
	if (host_link(host_path(host, DEVICES "/%s/iommu_group", vf), name))
		snprintf(node, HOST_ENTRY_MAX, "/dev/vfio/%.200s", name);
	if (host_first(host_path(host, DEVICES "/%s/infiniband_verbs", vf), name))
		snprintf(node, HOST_ENTRY_MAX, "/dev/infiniband/%.200s", name);
}

static void examine_descriptor(void *context, const char *name)
{
	struct search *search = context;
	char target[PATH_MAX];
	ssize_t size = -1;

	if (!search->user->pid)
		size = readlink(
			host_path(search->host, "/proc/%s/fd/%s", search->process, name), target, sizeof(target) - 1);
	if (size < 0)
		return;
	target[size] = '\0';
	for (unsigned i = 0; i < search->count; i++)
		if (*search->nodes[i] && strcmp(search->nodes[i], target) == 0) {
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
	static char nodes[VF_CONF_MAX_VFS][HOST_ENTRY_MAX];
	struct search search = {.host = host, .vfs = vfs, .nodes = nodes, .count = count, .user = user};
	bool any = false;

	*user = (struct vf_user){0};
	for (unsigned i = 0; i < count; i++) {
		find_node(host, vfs[i], nodes[i]);
		any |= *nodes[i] != '\0';
	}
	if (any)
		host_each(host_path(host, "/proc"), examine_process, &search);
}
