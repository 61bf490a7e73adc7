/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours that routes lead to, with what the kernel knows about each. Control thread only, or under the lock of
 * struct nexthop. Times are clock_now_ms().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "program/netlink/rtnetlink.h"

struct neighbour {
	struct neighbour *chain; /* the next one of the bucket */
	struct neighbour_key key; /* its family is not AF_UNSPEC */
	uint64_t id; /* a hash of the key, the same in every director whose interface has this index */
	uint64_t known_mac; /* the first byte is the lowest; 0: not known, or the neighbour does not reply */
	bool down; /* the kernel does not use the next hop now, for example because its link is down */
	uint16_t state; /* NUD_* of the last message; NUD_NONE: the kernel has no entry */
	bool used; /* a route leads to it; neighbours_sweep() removes the others */
	bool settled; /* the kernel has replied since the neighbour was added: it has a MAC, or it failed */
	bool failing; /* an event says that it failed, and the next one may say that somebody deleted the entry */
	bool reread; /* its entry must be read again, because an event may have been lost */
	uint32_t backends; /* how many lead to it; only valid within nexthop_list() */
	uint64_t changed_ms; /* when neighbour_mac() changed, or when the neighbour was added */
	uint64_t probe_ms; /* when to probe it next */
	uint64_t logged_mac; /* what the log says */
	bool logged; /* the log has this neighbour */
};

/* Returns the MAC to send to, or 0. */
static inline uint64_t neighbour_mac(const struct neighbour *neighbour)
{
	return neighbour->down ? 0 : neighbour->known_mac;
}

#define NEIGHBOURS_BUCKETS 4096

struct neighbours {
	uint32_t count, room;
	struct neighbour **items;
	struct neighbour *buckets[NEIGHBOURS_BUCKETS];
	uint32_t cursor; /* where neighbours_probe() goes on */
};

/* Returns the neighbour with this key, which is added if `now_ms` is not 0. NULL: there is none, or out of memory. */
struct neighbour *neighbours_get(struct neighbours *neighbours, const struct neighbour_key *key, uint64_t now_ms);

/*
 * Takes what the kernel says about a neighbour. entry: NULL if the kernel has no entry. Returns whether neighbour_mac()
 * changed. A neighbour that failed has no MAC. One whose entry is only old or gone keeps its MAC, and is probed soon.
 */
bool neighbour_update(struct neighbour *neighbour, const struct neighbour_entry *entry, uint64_t now_ms);

/* Returns whether the kernel uses its entry for ever, and needs no probe. */
bool neighbour_is_static(const struct neighbour *neighbour);

/* Sets `down`. Returns whether neighbour_mac() changed. */
bool neighbour_set_down(struct neighbour *neighbour, bool down, uint64_t now_ms);

/* Calls probe() for the neighbours that are due: at most `count`, and at most `failed` of those without a MAC that
 * failed before. */
void neighbours_probe(struct neighbours *neighbours, uint64_t now_ms, unsigned count, unsigned failed,
	void (*probe)(void *context, struct neighbour *neighbour), void *context);

/* Frees the neighbours that are not used, and clears `used` of the others. */
void neighbours_sweep(struct neighbours *neighbours);
void neighbours_free(struct neighbours *neighbours);

/* The states of neighbours, in words. "resolving": the kernel has no entry, or is asking for the MAC. */
#define NEIGHBOUR_STATES 9
extern const char *const neighbour_states[NEIGHBOUR_STATES];

/* Returns the index in neighbour_states. */
unsigned neighbour_state(const struct neighbour *neighbour);

/* Returns the address as text, in buf. */
const char *neighbour_address(const struct neighbour_key *key, char buf[46]);

/* Writes a MAC like "aa:bb:cc:dd:ee:ff" to buf, or "unknown" for 0. Returns buf. */
const char *neighbour_mac_text(uint64_t mac, char buf[18]);
