/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbound_gateway_mac = "auto": the MAC address behind the kernel's route to the proxies, by
 * rtnetlink. It is asked for, kept fresh and followed when the route or the neighbour changes.
 * Control thread only; the MAC goes to a number that any thread may read.
 */
#ifndef GLB_DIRECTOR_CONTROL_GATEWAY_H
#define GLB_DIRECTOR_CONTROL_GATEWAY_H

#include <stdint.h>

struct gateway;

/*
 * source: outbound_src_ip, network order. *mac: worker_shared.gateway_mac; written by relaxed stores, never
 * back to 0. NULL after logging why: no memory, or no netlink.
 */
struct gateway *gateway_open(uint32_t source, uint64_t *mac);
void gateway_close(struct gateway *gateway);

/* Readable when the kernel has news: call gateway_read(). */
int gateway_descriptor(const struct gateway *gateway);
void gateway_read(struct gateway *gateway);

/* Where packets go now: a proxy's address, network order; 0: there is none. */
void gateway_follow(struct gateway *gateway, uint32_t destination);

/* About once a second: asks again for what is not known, and confirms now and then what is. */
void gateway_tick(struct gateway *gateway);

/* "aa:bb:cc:dd:ee:ff", or "unknown" for 0; returns buf. */
const char *gateway_format(uint64_t mac, char buf[18]);

#endif
