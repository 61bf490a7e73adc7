/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/loader.h"

#include <errno.h>
#include <linux/if_link.h>

#include "common/file/file_lock.h"
#include "redirect/kernel/pins.h"

#define PATIENCE_MS 2000

static int held = -1; /* the lock */

int loader_lock(void)
{
	char holder[FILE_LOCK_HOLDER_MAX];
	int error = pins_check_bpffs();

	if (error)
		return error;
	while ((held = file_lock_folder(PINS_ROOT, PATIENCE_MS, holder)) == -EWOULDBLOCK)
		command_note("waits for %s, which has locked " PINS_ROOT, holder);
	if (held == -EPERM)
		command_error(PINS_ROOT
			": another user may change this folder, so its programs are not to be trusted: remove it");
	return held < 0 ? held : 0;
}

void loader_unlock(void)
{
	if (held >= 0)
		file_unlock_folder(PINS_ROOT, held);
	held = -1;
}

const char *loader_mode_name(uint8_t attached)
{
	return attached == XDP_ATTACHED_SKB ? "generic" : "native";
}

const char *loader_udp_name(uint16_t udp)
{
	return udp == REDIRECT_UDP_CONNECTED ? "connected" : "first-hop";
}

const char *loader_forward_name(uint16_t forward)
{
	return forward == REDIRECT_FORWARD_FIB ? "fib" : "sender";
}

void loader_print_settings(const struct redirect_settings *settings)
{
	printf("  port %u, udp %s, syn-cookies %s, forward %s\n", settings->port, loader_udp_name(settings->udp),
		settings->syn_cookies ? "on" : "off", loader_forward_name(settings->forward));
}
