/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: network devices seem to have the features that FAKE_OFFLOADS names, such as "rx-lro rx-gro-hw", switched on.
 * Virtual devices do not have them.
 */
#include <dlfcn.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static char names[256][ETH_GSTRING_LEN];
static unsigned known; /* names */

static void learn(const struct ethtool_gstrings *strings)
{
	known = strings->len;
	memcpy(names, strings->data, (size_t)known * ETH_GSTRING_LEN);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	const char *wanted = getenv("FAKE_OFFLOADS");
	struct ethtool_gfeatures *features;
	struct ifreq *interface;
	va_list args;
	int result;

	va_start(args, request);
	interface = va_arg(args, struct ifreq *);
	va_end(args);
	result = real(fd, request, interface);
	if (result != 0 || request != SIOCETHTOOL)
		return result;
	features = (void *)interface->ifr_data;
	if (features->cmd == ETHTOOL_GSTRINGS && known == 0)
		learn((void *)features);
	for (unsigned i = 0; wanted && features->cmd == ETHTOOL_GFEATURES && i < known; i++)
		if (strstr(wanted, names[i]) && *names[i])
			features->features[i / 32].active |= 1u << i % 32;
	return result;
}
