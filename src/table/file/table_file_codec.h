/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs of versions 2 and 3, for table_file.c, which chooses the version. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/file/binary_reader.h"
#include "table/table.h"

/* The file has the magic and this version. True: *set is complete. False: there are errors, and *set may be filled in
 * part; the caller frees it in either case. */
bool table_file_parse_v2(struct binary_reader *reader, struct table_set *set);
bool table_file_parse_v3(struct binary_reader *reader, struct table_set *set);

/* The size of the encoded set in bytes, and the encoding into as many zeroed bytes. The caller has checked that the
 * version can hold the set. */
size_t table_file_size_v2(const struct table_set *set);
void table_file_encode_v2(const struct table_set *set, uint8_t *bytes);
/* same: from table_share_rows(). */
size_t table_file_size_v3(const struct table_set *set, const uint32_t *same);
void table_file_encode_v3(const struct table_set *set, const uint32_t *same, uint8_t *bytes);

/*
 * The extension of a table in version 3: weights, balance, QUIC and previous states. A table without any of these
 * has none, and its size is 0. The encoder writes as many zeroed bytes. The parser reads the extension at `at` in the
 * file, or sets the defaults if `extended` is false, and returns the offset after it; 0: there are errors.
 */
size_t table_extension_size(const struct table *table);
void table_extension_encode(const struct table *table, uint8_t *bytes);
size_t table_extension_parse(struct binary_reader *reader, size_t at, bool extended, struct table *table);
