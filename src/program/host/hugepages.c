/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/hugepages.h"

const struct finding hugepages_none = {FINDINGS_FAIL, "sysctl -w vm.nr_hugepages=512",
	"no hugepages are reserved, so the director does not start: make the number permanent in /etc/sysctl.d"};

struct sizes {
	const struct host *host;
	const char *folder; /* has a folder hugepages-SIZEkB for each size */
	struct hugepages pages;
};

static void add_size(void *context, const char *name)
{
	struct sizes *sizes = context;
	long size = 0, total = 0, unused = 0;

	if (sscanf(name, "hugepages-%ldkB", &size) != 1)
		return;
	host_number(host_path(sizes->host, "%s/%s/nr_hugepages", sizes->folder, name), &total);
	host_number(host_path(sizes->host, "%s/%s/free_hugepages", sizes->folder, name), &unused);
	sizes->pages.total_kb += total * size;
	sizes->pages.unused_kb += unused * size;
}

struct hugepages hugepages_count(const struct host *host, const char *folder)
{
	struct sizes sizes = {.host = host, .folder = folder};

	host_each(host_path(host, "%s", folder), add_size, &sizes);
	return sizes.pages;
}
