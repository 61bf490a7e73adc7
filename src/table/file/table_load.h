/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads tables from files. All return 0; or -EINVAL: not a valid table, and errors in faults say where and why; or
 * another -errno: the file could not be read, and an error says so. Not pure: opens files, starts threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/table.h"

/* Bytes. A larger file is refused before it is read, because the director may not have memory for it. */
#define TABLE_LOAD_MAX_JSON   ((size_t)128 << 20)
#define TABLE_LOAD_MAX_BINARY ((size_t)2 << 30) /* no binary table within the limits needs more */

/* Reads a binary table (recognised by its magic) or a JSON table, whose rows it builds. On 0 *set is filled, and the
 * caller frees it; otherwise *set is empty. *version, if not NULL, is set on success: 2, 3, or 0 for JSON. */
int table_load(const char *path, struct table_set *set, uint32_t *version, struct faults *faults);

/* The same for a binary table only. */
int table_load_binary(const char *path, struct table_set *set, uint32_t *version, struct faults *faults);

/* The same for a JSON table only, whose rows it does not build. */
int table_load_json(const char *path, struct table_set *set, struct faults *faults);

/* Returns the version of a binary table, or 0 if the file is none or cannot be read. Reads only its first bytes. */
uint32_t table_load_version(const char *path);

/* Reads a table in either form without parsing it, with file_read(); an empty file is an error. */
int table_load_text(const char *path, char **text, size_t *size, struct faults *faults);
