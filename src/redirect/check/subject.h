/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the checks look at. One thread. */
#ifndef GLB_REDIRECT_CHECK_SUBJECT_H
#define GLB_REDIRECT_CHECK_SUBJECT_H

#include "redirect/check/check.h"

/*
 * vips: addresses and prefixes with commas between them, or NULL. config_file: a path, or NULL; borrowed. Prints an
 * error if the VIPs are none. Returns an exit code. The caller calls subject_free() in either case.
 */
int subject_read(const char *interface, const char *vips, const char *config_file, struct check_subject *subject);
void subject_free(struct check_subject *subject);

#endif
