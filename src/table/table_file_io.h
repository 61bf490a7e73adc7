/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files in and out of memory, for table_file and table_json. */
#ifndef GLB_TABLE_TABLE_FILE_IO_H
#define GLB_TABLE_TABLE_FILE_IO_H

#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"

/* More than any table that keeps the limits needs, in either form. */
#define TABLE_FILE_MAX_SIZE ((size_t)64 << 20)

/*
 * Reads the regular file `path` of at most `max` bytes. A copy, not a mapping: a file that somebody
 * truncates must not kill the reader. 0: *bytes (malloc'd, the caller frees; not NULL) and *size
 * are set; else -errno, and an error in faults.
 */
int table_file_slurp(const char *path, size_t max, uint8_t **bytes, size_t *size, struct faults *faults);

#endif
