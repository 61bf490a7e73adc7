/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel knows of the programs on an interface, as of one moment, for the subcommands that show it. Plain
 * data. One thread. The functions print nothing.
 */
#pragma once

#include "redirect/kernel/companion.h"
#include "redirect/kernel/losses.h"
#include "redirect/kernel/pins.h"

struct attached {
	char interface[IFNAMSIZ]; /* the name of the pins' folder */
	struct pins_location location;
	int location_error; /* 0, or -errno: `location` is not known */
	uint32_t ifindex; /* of the link; 0: the interface was deleted */
	uint32_t program_id;
	uint32_t next_id; /* of the next program, or 0 */
	bool has_settings; /* false: pinned by a version with other settings */
	struct redirect_settings settings;
	bool open; /* to any sender */
	/* Only for a program that is attached to this interface. companion_error: 0, or -errno: `companion` is not
	 * known. */
	enum companion_place companion;
	int companion_error;
	/* The first counters are known; those of a newer version are not, and no counter of one with another
	 * list is. */
	uint32_t counter_count;
	uint64_t counters[REDIRECT_COUNTER_COUNT];
	bool has_hops;
	uint64_t hops[REDIRECT_HOPS];
	bool has_losses; /* false: nothing counts them */
	uint64_t losses[LOSSES_COUNT];
};

void attached_read(const char *interface, const struct pins *pins, struct attached *attached);

/* The names of the counters, in order. */
extern const char *const attached_counter_names[REDIRECT_COUNTER_COUNT];

/* Returns whether the program runs on the interface of its name. */
bool attached_here(const struct attached *attached);
