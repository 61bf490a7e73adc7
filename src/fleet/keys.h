/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Secrets that do not go through etcd. A table whose text has "keys": "NAME" and "keys_id": "16 hex digits" in place of
 * `hash_key` and `seed` gets them from the file NAME in a folder of the director: {"hash_key": HEX, "seed": HEX}. Only
 * the owner may read that file. keys_id is a keyed digest of both, so a director with other keys refuses the table.
 * Blocks. One thread.
 */
#pragma once

#include <stddef.h>

#include "common/faults.h"

/*
 * Returns the text with the secrets in place of their names, malloc'd; a text without names is only copied. NULL: it is
 * not JSON, a secret is missing or differs, or others may read it, and faults say so.
 */
char *keys_expand(const char *text, const char *folder, struct faults *faults);

/* Writes the keys_id of a file with secrets. Returns false after an error in faults. */
bool keys_id(const char *folder, const char *name, char id[17], struct faults *faults);
