/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel objects that the loader pins, so that they outlive it. Each interface has a folder in bpffs with the pin
 * `link`, which keeps the program attached, and a folder for the program, named by the program's id in the kernel:
 *
 *   eth0/link
 *   eth0/companion       the link of the tc program (companion.h), if the kernel has tcx
 *   eth0/1234/counters    the map of counters
 *   eth0/1234/hops        the map that counts accepted packets by hop
 *   eth0/1234/settings    the program's read-only data
 *   eth0/1234/lists       the addresses that the program allows
 *   eth0/1234/generation  a number that changes with the lists
 *   eth0/1234/next        the map with the next program (next.h), which is pinned beside it
 *   eth0/losses/          see losses.h
 *
 * The kernel replaces the program of a link atomically, and the link names the program that runs. So the pins are
 * consistent whenever a loader is killed: folders of other programs than the link's are leftovers, which the next
 * attach or detach removes.
 *
 * One thread. Functions that return int return 0 or -errno, unless a comment says otherwise.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "redirect/kernel/lists.h"
#include "redirect/kernel/program.h"
#include "redirect/redirect.h"

#define PINS_BPFFS "/sys/fs/bpf"
#define PINS_ROOT  PINS_BPFFS "/glb-redirect"

/* The pins in the folder of an interface itself. */
#define PINS_LINK      "link"
#define PINS_COMPANION "companion"

#define PINS_FOLDER_MAX 16 /* bytes of the name of a folder in an interface's folder */

struct pins {
	int link, counters, hops, settings, next; /* file descriptors; -1: not pinned */
	struct lists lists;
	/* The interface of the link, in whichever network namespace it is; 0: it was deleted. */
	uint32_t link_ifindex;
	uint32_t program_id;
};

/*
 * Opens the pins of an interface. Returns -ENOENT if no link is pinned; the other pins may be missing.
 * After an error *pins needs no pins_close().
 */
int pins_open(const char *interface, struct pins *pins);
void pins_close(struct pins *pins);

/* Where the program of a pinned link is, as seen from the loader's network namespace. */
enum pins_place {
	PINS_GONE, /* nowhere, because its interface was deleted */
	PINS_HERE, /* on the interface with the name of the pins' folder */
	PINS_RENAMED, /* on the interface that had this name, but has another name now */
	/* In another network namespace, which shares this bpffs, or to which the interface was moved. */
	PINS_ELSEWHERE,
};

struct pins_location {
	enum pins_place place;
	/* Both are valid for PINS_HERE and PINS_RENAMED only. */
	char name[IFNAMSIZ]; /* of the interface */
	uint8_t mode; /* XDP_ATTACHED_* */
};

int pins_locate(const char *interface, const struct pins *pins, struct pins_location *location);

/*
 * Makes this process the one that follows the addresses of this network namespace, until it ends. Returns a descriptor,
 * or -errno; -EWOULDBLOCK: another process is.
 */
int pins_lock_follower(void);
bool pins_has_follower(void);

/*
 * A folder in the interface's folder, and the pins in it; or, if `name` is "", a pin called `folder` in the interface's
 * folder itself. pins_make_folder() creates both folders if they are missing, and returns -ENODEV if bpffs is not
 * mounted. pins_get() returns a descriptor or -errno.
 */
int pins_make_folder(const char *interface, const char *folder);
int pins_put(const char *interface, const char *folder, const char *name, int fd);
int pins_get(const char *interface, const char *folder, const char *name);
void pins_remove_pin(const char *interface, const char *folder, const char *name);
void pins_remove_folder(const char *interface, const char *folder);

/* Writes the name of the folder of a program, and returns it. */
const char *pins_program_folder(char folder[PINS_FOLDER_MAX], uint32_t program_id);

/* Returns -ENODEV if this mount namespace has no bpffs at PINS_BPFFS, so that nobody can tell what is attached. */
int pins_check_bpffs(void);

/* Pins the maps of a loaded program, which is not attached yet, in its folder. See pins_make_folder(). */
int pins_put_program(const char *interface, const struct program *program);

/* Removes the pins of all programs but that with the id `program_id`. */
void pins_remove_others(const char *interface, uint32_t program_id);

/* Removes the interface's pins and its folder. Returns false if there was no folder. */
bool pins_remove(const char *interface);

/*
 * Calls `each` for every interface with a pinned link, in order of name. Stops at the first call that
 * does not return 0, and returns its result. Returns -errno if the folder cannot be read.
 */
int pins_for_each(int (*each)(const char *interface, void *data), void *data);

/* Returns -EPROTO if the pins are of a version with another layout. */
int pins_read_settings(const struct pins *pins, struct redirect_settings *settings);

/* False: the program is of a version that does not count hops, or counts other ones. */
bool pins_has_hops(const struct pins *pins);

/* Sums the first `count` values of a map over all CPUs. */
int pins_sum(int map, uint32_t count, uint64_t *values);

/* Returns n if the pinned counters are the first n of ours, or 0 if they are others. */
uint32_t pins_known_counters(const struct pins *pins);

/* Writes the values of the first `count` pinned counters to another map, whose descriptor is `map`. */
int pins_copy_counters(const struct pins *pins, int map, uint32_t count);
