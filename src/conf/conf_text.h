/* SPDX-License-Identifier: BSD-3-Clause */
/* Works around libconfig: it exits if a file is a folder, and cuts large integers silently. Only for conf_reader.c. */
#ifndef GLB_CONF_CONF_TEXT_H
#define GLB_CONF_CONF_TEXT_H

#include <stdbool.h>

#include <libconfig.h>

#include "common/faults.h"

/* The file's name for faults: faults->file, or "configuration" if the caller has set none. */
static inline const char *conf_text_name(const struct faults *faults)
{
	return faults->file ? faults->file : "configuration";
}

/* Returns the text of the file; the caller frees it. NULL: *error is -errno, and an error says why. */
char *conf_text_read(const char *path, struct faults *faults, int *error);

/* Adds the syntax error that config_read_string() found in `text`. */
void conf_text_error(const char *text, struct faults *faults, const config_t *config);

/* Adds an error for each integer of more than 32 bits, because libconfig 1.5 keeps only its low bits and reports nothing.
 * Does not look into included files. False: there was one. */
bool conf_text_check_integers(const char *text, struct faults *faults);

#endif
