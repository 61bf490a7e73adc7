/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbound_gateway_mac = "auto": finds the MAC of the next hop on the kernel's route to the proxies, through rtnetlink. The MAC is
 * refreshed, and updated when the route or the neighbour entry changes. Control thread only. Any thread may read the MAC itself.
 */
#ifndef GLB_DIRECTOR_CONTROL_GATEWAY_H
#define GLB_DIRECTOR_CONTROL_GATEWAY_H

#include <stdint.h>

struct gateway;

/*
 * source: outbound_src_ip, network order. mac: where to store the MAC (director.gateway_mac); it is written by relaxed stores,
 * and never back to 0. *mac must exist until gateway_close(). NULL after logging why.
 */
struct gateway *gateway_open(uint32_t source, uint64_t *mac);
void gateway_close(struct gateway *gateway);

/* Returns a file descriptor. When it is readable, the caller calls gateway_read(). */
int gateway_descriptor(const struct gateway *gateway);
void gateway_read(struct gateway *gateway);

/* Sets the destination whose next hop is the gateway: the address of a proxy, network order. 0: there is no proxy. */
void gateway_follow(struct gateway *gateway, uint32_t destination);

/* Called about once a second. Tries again to resolve a MAC that is not known, and sometimes lets the kernel confirm one that is. */
void gateway_tick(struct gateway *gateway);

/* Writes a MAC like "aa:bb:cc:dd:ee:ff" to buf, or "unknown" for 0. Returns buf. */
const char *gateway_format(uint64_t mac, char buf[18]);

#endif
