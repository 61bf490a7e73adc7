/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the kernel and of this process. */
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "redirect/check/check.h"
#include "redirect/kernel/pins.h"
#include "redirect/host/system.h"

void check_privileges(struct check *check)
{
	char missing[SYSTEM_CAPABILITIES_MAX];

	if (system_missing_capabilities(missing))
		check_add(check, FINDINGS_FAIL, "", NULL,
			"this process lacks %s, so it cannot see everything that it checks: run glb-redirect check as root",
			missing);
	else
		check_add(check, FINDINGS_OK, "", NULL, "all capabilities that glb-redirect needs");
}

void check_kernel(struct check *check)
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
		check_add(check, FINDINGS_FAIL, "", NULL, "Linux %s is too old: glb-redirect needs 5.10 or newer",
			system_release());
		return;
	}
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (version < features[i].version)
			snprintf(lacks + strlen(lacks), sizeof(lacks) - strlen(lacks), "%s %s",
				*lacks ? "," : ", without", features[i].feature);
	check_add(check, FINDINGS_OK, "", NULL, "Linux %s%s", system_release(), lacks);
}

void check_bpffs(struct check *check)
{
	struct statfs fs;

	if (statfs(PINS_BPFFS, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		check_add(check, FINDINGS_OK, "", NULL, "a bpffs is mounted on " PINS_BPFFS);
	else
		check_add(check, FINDINGS_FAIL, PINS_BPFFS, "mount -t bpf bpf " PINS_BPFFS,
			"there is no bpffs, in which attach pins the program");
}
