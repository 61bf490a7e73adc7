/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/loader.h"

#include <linux/if_link.h>

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
