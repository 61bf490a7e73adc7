/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel and of this process. */
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "redirect/check/check.h"
#include "redirect/kernel/pins.h"
#include "redirect/host/system.h"

static const struct finding unprivileged = {FINDINGS_FAIL, NULL,
	"this process lacks {1}, so it cannot see everything that it checks: run glb-redirect check as root"};
static const struct finding old_kernel = {FINDINGS_FAIL, NULL, "Linux {1} is too old: glb-redirect needs 5.10 or newer"};
static const struct finding no_bpffs = {
	FINDINGS_FAIL, "mount -t bpf bpf {0}", "there is no bpffs, in which attach pins the program"};

void check_privileges(void *)
{
	char missing[SYSTEM_CAPABILITIES_MAX];

	if (system_missing_capabilities(missing))
		findings_add(&unprivileged, "", missing);
	else
		findings_ok("", "all capabilities that glb-redirect needs");
}

void check_kernel(void *)
{
	/* Newest last. */
	static const struct {
		int version;
		const char *feature;
	} features[] = {
		{516, "neighbours that the kernel keeps resolved (ip neigh replace ... managed, for --forward fib)"},
		{518, "native mode with an MTU above one page"},
		{603, "what a driver's XDP can do"},
	};
	int version = system_kernel();
	char lacks[256] = "";

	if (version < SYSTEM_OLDEST_KERNEL) {
		findings_add(&old_kernel, "", system_release());
		return;
	}
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (version < features[i].version)
			snprintf(lacks + strlen(lacks), sizeof(lacks) - strlen(lacks), "%s %s",
				*lacks ? "," : ", without", features[i].feature);
	findings_ok("", "Linux %s%s", system_release(), lacks);
}

void check_bpffs(void *)
{
	struct statfs fs;

	if (statfs(PINS_BPFFS, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		findings_ok("", "a bpffs is mounted on " PINS_BPFFS);
	else
		findings_add(&no_bpffs, PINS_BPFFS);
}
