/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration file as text: what libconfig cannot be trusted with. Only for conf_reader.c. */
#ifndef GLB_CONF_CONF_TEXT_H
#define GLB_CONF_CONF_TEXT_H

#include <stdbool.h>

#include <libconfig.h>

#include "common/faults.h"

/* The name of the file in faults: faults->file, or "configuration" where the caller gave none. */
static inline const char *conf_text_name(const struct faults *faults)
{
	return faults->file ? faults->file : "configuration";
}

/* The whole file; the caller frees it. NULL: an error says why, *error is -errno. (libconfig would
 * exit() on a folder.) */
char *conf_text_read(const char *path, struct faults *faults, int *error);

/* Reports the syntax error that config_read_string() found. */
void conf_text_error(const char *text, struct faults *faults, const config_t *config);

/* Reports integers beyond 32 bits in this text, not in what it includes: libconfig 1.5 keeps the
 * low bits of those and says nothing. False: there are some. */
bool conf_text_check_integers(const char *text, struct faults *faults);

#endif
