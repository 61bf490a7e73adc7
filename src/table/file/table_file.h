/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binary forwarding tables of versions 2 and 3, in memory. docs/reference/table-binary.md describes every byte. The
 * parser validates each value before it uses it, so no input can crash it. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/table.h"

enum table_file_format {
	TABLE_FILE_V2 = 2,
	TABLE_FILE_V3 = 3,
};

/*
 * Parses and validates a binary table. `bytes` may have any alignment and is not kept. 0: *set is filled, rows
 * included; the caller frees it. -EINVAL: not a valid table; errors in faults say where and why, and *set is empty.
 * *version, if not NULL, is set on success.
 */
int table_file_parse(const uint8_t *bytes, size_t size, struct table_set *set, uint32_t *version, struct faults *faults);

/*
 * Encodes a set whose rows are built. 0: *bytes (malloc'd, the caller frees) and *size are set. -EINVAL: the version
 * cannot hold the set, and an error in faults says why. Or -ENOMEM.
 */
int table_file_encode(const struct table_set *set, enum table_file_format format, uint8_t **bytes, size_t *size,
	struct faults *faults);
