/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands of glb-redirect share. One thread; only these files print.
 */
#ifndef GLB_REDIRECT_LOADER_H
#define GLB_REDIRECT_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/command.h"
#include "redirect/redirect.h"

#define LOADER_PROGRAM "glb_redirect" /* as the kernel knows it */

/* One for each file of this name. */
extern const struct command attach_command, detach_command, status_command, stats_command;

/* The interface that was named, or NULL. */
static inline const char *loader_interface(const struct command_args *args)
{
	return args->count ? args->operands[0] : NULL;
}

/* "native" or "generic" of an XDP_ATTACHED_* value. */
const char *loader_mode_name(uint8_t attached);
const char *loader_udp_name(uint16_t udp);

/* "port 19523, udp first-hop, syn-cookies off" */
void loader_print_settings(const struct redirect_settings *settings);

#endif
