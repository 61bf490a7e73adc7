/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binary forwarding tables, versions 2 and 3 (docs/reference/table-binary.md). The reader validates
 * everything before it uses anything and never crashes, whatever the bytes are.
 */
#ifndef GLB_TABLE_TABLE_FILE_H
#define GLB_TABLE_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/table.h"

enum table_file_format {
	TABLE_FILE_AUTO = 0, /* 2 where it can say every route, else 3 */
	TABLE_FILE_V2 = 2,
	TABLE_FILE_V3 = 3,
};

/*
 * Reads and validates the file `path`. 0: *set is filled, rows included; the caller frees it.
 * -EINVAL: not a valid table, an error in faults says where and why. Other -errno: could not be
 * read, an error says so. On failure *set is empty. *version, if not NULL, is set with 0.
 */
int table_file_read(const char *path, struct table_set *set, uint32_t *version, struct faults *faults);

/* The same from memory; `bytes` may have any alignment and is not kept. */
int table_file_parse(const uint8_t *bytes, size_t size, struct table_set *set, uint32_t *version, struct faults *faults);

/*
 * Encodes a set whose rows are built. On 0 *bytes (malloc'd, the caller frees) and *size are set.
 * -EINVAL: the wanted version cannot say it, an error in faults says why. -ENOMEM.
 */
int table_file_encode(const struct table_set *set, enum table_file_format format, uint8_t **bytes, size_t *size,
	struct faults *faults);

/* More than any table within the limits needs, in either form. */
#define TABLE_FILE_MAX_SIZE ((size_t)64 << 20)

/* file_read() of a table in either form; an empty file is an error. */
int table_file_slurp(const char *path, char **text, size_t *size, struct faults *faults);

/*
 * Whatever `path` holds: a binary table (by its magic), or else JSON, whose rows are then built. As
 * table_file_read(); *version is 0 for JSON.
 */
int table_load(const char *path, struct table_set *set, uint32_t *version, struct faults *faults);

#endif
