/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program allows: redirect.conf, and the addresses of this host. One thread. Functions that return an exit code
 * print an error.
 */
#pragma once

#include <jansson.h>

#include "redirect/config/redirect_conf.h"
#include "redirect/kernel/lists.h"
#include "redirect/redirect.h"

/*
 * Reads the file settings->config_file, or the defaults if it is "", and sets the members of *settings that depend on
 * it. Returns an exit code. The caller calls redirect_conf_free() in either case.
 */
int allow_read(struct redirect_settings *settings, struct redirect_conf *conf);

/* Fills the lists of a program that is not attached yet. Returns an exit code. */
int allow_fill(const struct lists *lists, const struct redirect_conf *conf, uint32_t ifindex);

/* Writes the present addresses of this host to the lists of a program. Returns 0 or -errno. */
int allow_update(const struct lists *lists, uint32_t ifindex);

/* Returns what a program allows as a new JSON object. It is empty for a program of a version without lists. */
json_t *allow_to_json(const struct redirect_settings *settings, const struct lists *lists);

/* Prints such an object in one or two lines: "  allow_from any (open to any sender), allow_to local, ...". */
void allow_print(const json_t *allow);
