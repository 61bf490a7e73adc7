/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the subcommands of glb-redirect, which has one thread. Only the subcommands' files,
 * loader.c and explain.c print.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "program/command.h"
#include "redirect/redirect.h"

/* Each command is defined in the file with its name, such as attach.c. */
extern const struct command attach_command, check_command, detach_command, drained_command, exporter_command,
	follow_command, next_command, reload_command, stats_command, status_command;

/* The interface on the command line, or NULL. */
static inline const char *loader_interface(const struct command_args *args)
{
	return args->count ? args->operands[0] : NULL;
}

/* "native" or "generic" for an XDP_ATTACHED_* value; "first-hop" or "connected" for an enum redirect_udp;
 * "sender" or "fib" for an enum redirect_forward. */
const char *loader_mode_name(uint8_t attached);
const char *loader_udp_name(uint16_t udp);
const char *loader_forward_name(uint16_t forward);

/*
 * Waits until no other loader changes pins, and keeps others out until loader_unlock(), which also removes the folder
 * of all pins if it is empty. -EPERM, after a message: others may change the pins. Another -errno: the first operation
 * on pins says why.
 */
int loader_lock(void);
void loader_unlock(void);

#define LOADER_WITHOUT_NUMBERS \
	"the program cannot tell a new connection from an old one with the same addresses and ports, so the new one can fail (this needs the kernel's BTF)"

/* Prints the line "  port 19523, udp first-hop, syn-cookies off, forward sender". */
void loader_print_settings(const struct redirect_settings *settings);
