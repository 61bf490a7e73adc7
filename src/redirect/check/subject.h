/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the checks look at. One thread. */
#ifndef GLB_REDIRECT_CHECK_SUBJECT_H
#define GLB_REDIRECT_CHECK_SUBJECT_H

#include "redirect/check/check.h"

/* vips: addresses and prefixes with commas between them, or NULL. Prints an error if they are not. Returns an exit code. */
int subject_read(const char *interface, const char *vips, struct check_subject *subject);
void subject_free(struct check_subject *subject);

#endif
