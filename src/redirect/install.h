/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaches the program to an interface, or replaces the program that is attached. Each function goes in steps, in an
 * order that leaves the interface in a state that the next attach or detach understands, whenever the loader is
 * killed. One thread. The caller holds loader_lock(). The functions print, and return COMMAND_OK or COMMAND_FAILED.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "redirect/config/redirect_conf.h"
#include "redirect/kernel/pins.h"
#include "redirect/redirect.h"

struct install {
	const char *interface;
	uint32_t ifindex;
	bool has_mode, generic; /* has_mode: the command line says `generic` or not */
	struct redirect_settings settings;
	struct redirect_conf conf; /* what settings.config_file says */
	bool debug;
};

/* Looks up the interface, and reads the configuration file that the settings name. Needs no lock. */
int install_prepare(struct install *install);

/* The interface has no XDP program. A failure leaves nothing behind. */
int install_new(struct install *install);

/*
 * Replaces the attached program atomically: every packet is handled by the old or by the new program. A failure leaves
 * the old program as it was. The new program uses the same map of counters. If it has more counters, it gets a new map
 * with a copy of the old values, so packets between the copy and the replacement are not counted. Does this only if the
 * program is still on this interface, and in the mode of the command line. Sets `generic`.
 */
int install_check_and_replace(struct install *install, const struct pins *old);
