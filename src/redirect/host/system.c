/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/host/system.h"

#include <linux/capability.h>
#include <linux/ethtool.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "program/host/device.h"
#include "program/host/host.h"

const char *system_release(void)
{
	static struct utsname name;

	return uname(&name) == 0 ? name.release : "";
}

int system_kernel(void)
{
	int major = 0, minor = 0;

	if (sscanf(system_release(), "%d.%d", &major, &minor) != 2)
		return SYSTEM_OLDEST_KERNEL;
	return major * 100 + minor;
}

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) == 0 && data[capability / 32].effective >> capability % 32 & 1;
}

bool system_can_read_maps(void)
{
	return has_capability(CAP_BPF) || has_capability(CAP_SYS_ADMIN);
}

bool system_missing_capabilities(char missing[SYSTEM_CAPABILITIES_MAX])
{
	static const struct {
		int capability;
		const char *name;
	} needed[] = {
		{CAP_BPF, "CAP_BPF"},
		{CAP_PERFMON, "CAP_PERFMON"}, /* for arithmetic on packet pointers */
		{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
	};

	*missing = '\0';
	if (has_capability(CAP_SYS_ADMIN) && has_capability(CAP_NET_ADMIN))
		return false;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!has_capability(needed[i].capability))
			strcat(strcat(missing, *missing ? " " : ""), needed[i].name);
	return *missing;
}

void system_driver(const char *interface, char driver[SYSTEM_DRIVER_MAX])
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (device_ethtool(interface, &info) != 0 || !*info.driver)
		strcpy(info.driver, "unknown");
	snprintf(driver, SYSTEM_DRIVER_MAX, "%s", info.driver);
}

bool system_setting(long *value, const char *format, ...)
{
	char path[128] = "/proc/sys/";
	va_list args;

	va_start(args, format);
	vsnprintf(path + strlen(path), sizeof(path) - strlen(path), format, args);
	va_end(args);
	return host_number(path, value);
}
