/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Works around libconfig, which exits if a file is a folder, and cuts large integers silently, also in included files.
 * Only for conf_reader.c.
 */
#pragma once

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

/*
 * Adds an error for each integer of more than 32 bits, or 64 bits if it ends with L, because libconfig 1.5 keeps only
 * its low bits and reports nothing. Looks also into the files that the text includes, which are relative to `folder`,
 * and adds an error for each that cannot be read. False: there was an error. Call it before libconfig, which exits if
 * it includes a folder.
 */
bool conf_text_check(const char *text, const char *folder, struct faults *faults);
