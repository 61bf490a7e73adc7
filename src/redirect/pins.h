/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What outlives the loader: a folder in bpffs for each interface. It holds `link`, which keeps the
 * program attached, `counters`, and `settings`, the program's read-only data.
 */
#ifndef GLB_REDIRECT_PINS_H
#define GLB_REDIRECT_PINS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "redirect/redirect.h"

#define PINS_BPFFS "/sys/fs/bpf"
#define PINS_ROOT  PINS_BPFFS "/glb-redirect"

struct pins {
	int link, counters, settings; /* descriptors; -1: not there */
	uint32_t link_ifindex; /* in a network namespace that may be another; 0: gone */
	uint32_t program_id;
};

/*
 * 0 or -errno. -ENOENT: no link is pinned for this interface; anything that is missing otherwise is
 * -1 in *pins.
 */
int pins_open(const char *interface, struct pins *pins);
void pins_close(struct pins *pins);

/* Where the program of a pinned link is, seen from our network namespace. */
enum pins_place {
	PINS_GONE, /* nowhere: its interface was deleted */
	PINS_HERE,
	PINS_RENAMED, /* on the same interface, which has another name now */
	PINS_ELSEWHERE, /* in another network namespace, which shares this bpffs or got the interface */
};

struct pins_location {
	enum pins_place place;
	char name[IFNAMSIZ]; /* of the interface, unless it is gone or elsewhere */
	uint8_t mode; /* XDP_ATTACHED_*, likewise */
};

/* 0 or -errno. */
int pins_locate(const char *interface, const struct pins *pins, struct pins_location *location);

/* Waits until no other loader changes pins; lasts until this process ends. */
void pins_lock(void);

/* Makes the folder. 0 or -errno; -ENODEV: there is no bpffs. */
int pins_make_folder(const char *interface);

/* Pins over whatever has that name. 0 or -errno. */
int pins_put(const char *interface, const char *name, int fd);

/* Removes all that is pinned for the interface, and its folder. False: there was no folder. */
bool pins_remove(const char *interface);

/*
 * Calls `each` for every interface with a pinned link, in order of name; stops at the first that does not
 * return 0 and returns that. -errno: the folder cannot be read.
 */
int pins_for_each(int (*each)(const char *interface, void *data), void *data);

/* 0 or -errno; -EPROTO: of a version that we cannot read. */
int pins_read_settings(const struct pins *pins, struct redirect_settings *settings);
int pins_read_counters(const struct pins *pins, uint64_t values[REDIRECT_COUNTER_COUNT]);

/* How many of our counters the pinned ones are: the first so many. 0: they are others. */
uint32_t pins_known_counters(const struct pins *pins);

/* Writes the first `count` of the pinned counters to another map. 0 or -errno. */
int pins_copy_counters(const struct pins *pins, int map, uint32_t count);

#endif
