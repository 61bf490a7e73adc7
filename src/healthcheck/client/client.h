/* SPDX-License-Identifier: BSD-3-Clause */
/* `glb-healthcheck status` and `reload`: ask a running daemon for /status, and print what matters. One
 * thread; blocks. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "healthcheck/config/conf.h"

/* Asks the daemon that listens as `conf` says. Returns the reply, which the caller frees; NULL after an
 * error message. */
char *client_fetch(const struct conf *conf);

/* True if every backend is healthy, and src, dst, reload and trusted certificates have no error. */
bool client_is_good(const json_t *status);

/* Prints the members of /status in lines of at most 80 columns. */
void client_print(const json_t *status);

/* Does all of this, or prints the reply itself if as_json. Returns the exit code. */
int client_run(const struct conf *conf, bool as_json);

/* Sends SIGHUP to the daemon that writes dst of `conf`, and waits until it has read src. Returns the exit code, after
 * an error message if it has refused src. */
int client_reload(const struct conf *conf);
