/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/nexthop/neighbours.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/siphash.h"

/* States of an entry in which the kernel uses its MAC. */
#define USABLE (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP)

/* The kernel confirms a used entry about every 30 s. When the entry becomes stale, it is probed at once; these are for
 * the rest. */
#define CONFIRM_MS 30000
#define RETRY_MS   5000 /* a neighbour without a MAC, or whose probe did not change anything */

static uint64_t hash_key(const struct neighbour_key *key)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];

	return siphash(zero, key, sizeof(*key));
}

static struct neighbour *add(struct neighbours *neighbours, const struct neighbour_key *key, uint64_t id, uint64_t now_ms)
{
	struct neighbour *neighbour, **bucket = &neighbours->buckets[id % NEIGHBOURS_BUCKETS];

	if (neighbours->count == neighbours->room) {
		uint32_t room = neighbours->room ? 2 * neighbours->room : 64;
		struct neighbour **items = realloc(neighbours->items, room * sizeof(struct neighbour *));

		if (!items)
			return NULL;
		neighbours->items = items;
		neighbours->room = room;
	}
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return NULL;
	neighbour->key = *key;
	neighbour->id = id;
	neighbour->changed_ms = now_ms;
	neighbour->probe_ms = now_ms;
	neighbour->reread = true;
	neighbour->chain = *bucket;
	*bucket = neighbour;
	neighbours->items[neighbours->count++] = neighbour;
	return neighbour;
}

struct neighbour *neighbours_get(struct neighbours *neighbours, const struct neighbour_key *key, uint64_t now_ms)
{
	uint64_t id = hash_key(key);
	struct neighbour *neighbour = neighbours->buckets[id % NEIGHBOURS_BUCKETS];

	while (neighbour && memcmp(&neighbour->key, key, sizeof(*key)) != 0)
		neighbour = neighbour->chain;
	return neighbour || !now_ms ? neighbour : add(neighbours, key, id, now_ms);
}

bool neighbour_update(struct neighbour *neighbour, const struct neighbour_entry *entry, uint64_t now_ms)
{
	uint64_t old = neighbour_mac(neighbour);
	uint16_t state = entry ? entry->state : NUD_NONE;

	neighbour->reread = false;
	if (state & USABLE)
		neighbour->known_mac = entry->mac;
	else if (state & NUD_FAILED)
		neighbour->known_mac = 0;
	neighbour->settled |= state & (USABLE | NUD_FAILED);
	/* The kernel does not use the entry, so it only confirms it if it is told to. */
	if ((state == NUD_STALE || state == NUD_NONE) && state != neighbour->state)
		neighbour->probe_ms = now_ms;
	else if (state & NUD_REACHABLE)
		neighbour->probe_ms = now_ms + CONFIRM_MS;
	neighbour->state = state;
	if (neighbour_mac(neighbour) == old)
		return false;
	neighbour->changed_ms = now_ms;
	return true;
}

bool neighbour_set_down(struct neighbour *neighbour, bool down, uint64_t now_ms)
{
	uint64_t old = neighbour_mac(neighbour);

	if (neighbour->down && !down) { /* the kernel may have failed to reach it because it was down */
		neighbour->settled = false;
		neighbour->probe_ms = now_ms;
	}
	neighbour->down = down;
	if (neighbour_mac(neighbour) == old)
		return false;
	neighbour->changed_ms = now_ms;
	return true;
}

bool neighbour_is_static(const struct neighbour *neighbour)
{
	return neighbour->state & (NUD_PERMANENT | NUD_NOARP);
}

void neighbours_probe(struct neighbours *neighbours, uint64_t now_ms, unsigned count, unsigned failed,
	void (*probe)(void *context, struct neighbour *neighbour), void *context)
{
	for (uint32_t i = 0; i < neighbours->count && count; i++) {
		struct neighbour *neighbour = neighbours->items[neighbours->cursor++ % neighbours->count];
		bool retry = !neighbour->known_mac && neighbour->settled;

		if (neighbour->probe_ms > now_ms || neighbour->down || (retry && !failed))
			continue;
		failed -= retry;
		count--;
		if (!neighbour_is_static(neighbour))
			probe(context, neighbour);
		neighbour->probe_ms = now_ms + (neighbour->state & NUD_REACHABLE ? CONFIRM_MS : RETRY_MS);
	}
}

static void unchain(struct neighbours *neighbours, struct neighbour *neighbour)
{
	struct neighbour **at = &neighbours->buckets[neighbour->id % NEIGHBOURS_BUCKETS];

	while (*at != neighbour)
		at = &(*at)->chain;
	*at = neighbour->chain;
}

void neighbours_sweep(struct neighbours *neighbours)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < neighbours->count; i++) {
		struct neighbour *neighbour = neighbours->items[i];

		if (neighbour->used) {
			neighbour->used = false;
			neighbours->items[kept++] = neighbour;
		} else {
			unchain(neighbours, neighbour);
			free(neighbour);
		}
	}
	neighbours->count = kept;
}

void neighbours_free(struct neighbours *neighbours)
{
	for (uint32_t i = 0; i < neighbours->count; i++)
		free(neighbours->items[i]);
	free(neighbours->items);
	*neighbours = (struct neighbours){0};
}

/* The indices in neighbour_states. */
enum { PERMANENT, NOARP, REACHABLE, STALE, DELAY, PROBE, FAILED, DOWN, RESOLVING };

const char *const neighbour_states[NEIGHBOUR_STATES] = {
	[PERMANENT] = "permanent",
	[NOARP] = "noarp",
	[REACHABLE] = "reachable",
	[STALE] = "stale",
	[DELAY] = "delay",
	[PROBE] = "probe",
	[FAILED] = "failed",
	[DOWN] = "down",
	[RESOLVING] = "resolving",
};

unsigned neighbour_state(const struct neighbour *neighbour)
{
	/* The indices are those of neighbour_states, up to FAILED. */
	static const uint16_t states[] = {
		NUD_PERMANENT, NUD_NOARP, NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_FAILED};

	if (neighbour->down)
		return DOWN;
	if (!neighbour->known_mac && !(neighbour->state & NUD_NOARP))
		return neighbour->settled ? FAILED : RESOLVING;
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (neighbour->state & states[i])
			return i;
	return RESOLVING; /* the entry is gone, and the MAC is the last one */
}

const char *neighbour_address(const struct neighbour_key *key, char buf[46])
{
	return inet_ntop((int)key->family, key->address, buf, 46) ? buf : "?";
}

const char *neighbour_mac_text(uint64_t mac, char buf[18])
{
	const uint8_t *bytes = (const uint8_t *)&mac;

	if (mac)
		snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4],
			bytes[5]);
	else
		strcpy(buf, "unknown");
	return buf;
}
