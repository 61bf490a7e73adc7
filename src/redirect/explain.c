/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/explain.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "redirect/loader.h"
#include "redirect/kernel/pins.h"
#include "redirect/host/system.h"

#define KERNEL_WITHOUT_MEMLOCK 511 /* counts maps against the memory control group, not RLIMIT_MEMLOCK */

static bool kernel_is_too_old(void)
{
	if (system_kernel() >= SYSTEM_OLDEST_KERNEL)
		return false;
	command_error("Linux %s is too old: the proxies need 5.10 or newer", system_release());
	return true;
}

static bool capabilities_are_missing(void)
{
	char missing[SYSTEM_CAPABILITIES_MAX];

	if (!system_missing_capabilities(missing))
		return false;
	command_error("not permitted: run glb-redirect as root; missing: %s", missing);
	return true;
}

static bool memlock_is_too_low(void)
{
	struct rlimit limit;

	if (system_kernel() >= KERNEL_WITHOUT_MEMLOCK || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		limit.rlim_cur == RLIM_INFINITY)
		return false;
	command_error(
		"Linux %s counts eBPF maps against the limit of locked memory, which is %llu bytes: raise it (ulimit -l unlimited, LimitMEMLOCK=infinity)",
		system_release(), (unsigned long long)limit.rlim_cur);
	return true;
}

int explain_folder(const char *interface, int error)
{
	if (error == -ENOENT && interface && pins_check_bpffs() == 0)
		return command_error("%s: not attached", interface);
	if (error == -ENODEV || pins_check_bpffs() != 0)
		return command_error("there is no bpffs on " PINS_BPFFS ": run mount -t bpf bpf " PINS_BPFFS);
	if ((error == -EPERM || error == -EACCES) && capabilities_are_missing())
		return COMMAND_FAILED;
	return command_error(
		"cannot use " PINS_ROOT "%s%s: %s", interface ? "/" : "", interface ? interface : "", strerror(-error));
}

int explain_load(int error, bool debug)
{
	if (kernel_is_too_old())
		return COMMAND_FAILED;
	if ((error == -EPERM || error == -EACCES) && capabilities_are_missing())
		return COMMAND_FAILED;
	if (error == -EPERM && memlock_is_too_low())
		return COMMAND_FAILED;
	if (error == -EPERM)
		return command_error(
			"the kernel does not permit loading eBPF programs: is it in lockdown mode, or is this a container?");
	if (error == -ENOMEM)
		return command_error("out of memory while loading the program");
	if (error == -ENOSYS)
		return command_error("this kernel was built without eBPF (CONFIG_BPF_SYSCALL)");
	return command_error("the verifier of Linux %s refused the program: %s%s", system_release(), strerror(-error),
		debug ? "" : "; add --debug to see why");
}

int explain_attach(const char *interface, bool generic, int error)
{
	char driver[SYSTEM_DRIVER_MAX];

	if (kernel_is_too_old())
		return COMMAND_FAILED;
	if (error == -EPERM && capabilities_are_missing())
		return COMMAND_FAILED;
	system_driver(interface, driver);
	if (error == -EOPNOTSUPP && !generic)
		return command_error(
			"%s: its driver, %s, does not support native XDP: use --mode generic, which works with any driver but is slower",
			interface, driver);
	if (error == -EBUSY || error == -EEXIST)
		return command_error("%s: another XDP program was attached in the meantime", interface);
	if (!generic)
		return command_error(
			"%s: its driver, %s, refuses the program: %s. Frequent reasons: an MTU above one page before Linux 5.18 or without XDP fragments in the driver, LRO, too few queues (see dmesg). --mode generic works with any driver but is slower",
			interface, driver, strerror(-error));
	return command_error("%s: cannot attach in generic mode: %s", interface, strerror(-error));
}

int explain_companion(const char *interface, int error)
{
	if (error == -EPERM && capabilities_are_missing())
		return COMMAND_FAILED;
	return command_error(
		"%s: cannot attach the tc program that has the kernel verify inner checksums: %s. Does the kernel have CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS, and has no other kind of filter priority 1 (tc filter show dev %s ingress)?",
		interface, strerror(-error), interface);
}

int explain_query(const char *interface, int error)
{
	return command_error("%s: cannot read the interface's XDP program: %s", interface, strerror(-error));
}

int explain_elsewhere(const char *interface)
{
	return command_error(
		"%s: the link pinned in " PINS_ROOT
		"/%s belongs to an interface of another network namespace, which shares this bpffs: mount a separate bpffs in each namespace, or run glb-redirect there",
		interface, interface);
}

struct search {
	uint32_t program_id;
	char interface[IFNAMSIZ]; /* "": not found yet */
};

static int find_program(const char *interface, void *data)
{
	struct search *search = data;
	struct pins pins;

	if (pins_open(interface, &pins) == 0 && pins.program_id == search->program_id)
		snprintf(search->interface, sizeof(search->interface), "%s", interface);
	pins_close(&pins);
	return 0;
}

static bool link_has_program(uint32_t link_id, uint32_t program_id)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_link_get_fd_by_id(link_id);
	bool has = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == BPF_LINK_TYPE_XDP &&
		   info.prog_id == program_id;

	if (fd >= 0)
		close(fd);
	return has;
}

bool explain_is_dispatcher(const char *interface, uint32_t program_id)
{
	char path[64];

	snprintf(path, sizeof(path), PINS_BPFFS "/xdp/dispatch-%u-%u", if_nametoindex(interface), program_id);
	return access(path, F_OK) == 0;
}

void explain_removal(char *remedy, size_t size, const char *interface, uint32_t program_id)
{
	uint32_t id = 0;
	int error;

	if (explain_is_dispatcher(interface, program_id)) {
		snprintf(remedy, size, "xdp-loader unload %s --all", interface);
		return;
	}
	while ((error = bpf_link_get_next_id(id, &id)) == 0)
		if (link_has_program(id, program_id)) {
			snprintf(remedy, size, "bpftool link detach id %u", id);
			return;
		}
	snprintf(remedy, size, "%sip link set dev %s xdp off",
		error == -ENOENT ? "" : "bpftool link detach id ID, if bpftool link list shows it, else ", interface);
}

int explain_foreign(const char *interface, uint32_t program_id)
{
	struct search search = {.program_id = program_id};
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd;
	char name[BPF_OBJ_NAME_LEN + 3] = "", remedy[128];

	pins_for_each(find_program, &search);
	if (*search.interface)
		return command_error("%s was called %s when the program was attached: run glb-redirect detach %s first",
			interface, search.interface, search.interface);
	explain_removal(remedy, sizeof(remedy), interface, program_id);
	if (explain_is_dispatcher(interface, program_id))
		return command_error(
			"%s already has the dispatcher of libxdp, id %u, which glb-redirect does not join: remove it first (%s). glb-redirect next then runs another program after this one",
			interface, program_id, remedy);
	fd = bpf_prog_get_fd_by_id(program_id);
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && *info.name)
		snprintf(name, sizeof(name), "'%s' ", info.name);
	if (fd >= 0)
		close(fd);
	return command_error("%s already has another XDP program, %sid %u, which is not pinned in " PINS_ROOT
			     ": remove it first (%s)",
		interface, name, program_id, remedy);
}
