/* SPDX-License-Identifier: BSD-3-Clause */
/* What the codecs of versions 2 and 3 share; only for table_file*.c. */
#ifndef GLB_TABLE_TABLE_FILE_CODEC_H
#define GLB_TABLE_TABLE_FILE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/table.h"

/* A file being read. Faults name the offset, the place ("tables[0].binds[3]"), the field and its
 * value. */
struct table_file_reader {
	const uint8_t *bytes;
	size_t size;
	struct faults *faults;
	unsigned rejected;
	char place[64];
};

void table_file_at(struct table_file_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error "byte OFFSET (PLACE.FIELD): TEXT"; `at` points into the file. After too many one last
 * error says so. */
void table_file_reject(struct table_file_reader *reader, const void *at, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns ok; if not, rejects "VALUE; expected EXPECTED". */
bool table_file_check(struct table_file_reader *reader, bool ok, const void *at, const char *field, uint64_t value,
	const char *expected);

/* A warning in the same form, of free text. */
void table_file_warn(struct table_file_reader *reader, const void *at, const char *field, const char *what);

/* Fields that both versions have; `value` is what the file says, `at` where. */
bool table_file_check_family(struct table_file_reader *reader, const void *at, uint32_t value);
bool table_file_check_prefix(struct table_file_reader *reader, const void *at, uint32_t value, uint32_t family);
bool table_file_check_protocol(struct table_file_reader *reader, const void *at, uint32_t value);
bool table_file_check_ports(struct table_file_reader *reader, const void *at, uint32_t start, uint32_t end);
bool table_file_check_health(struct table_file_reader *reader, const void *at, uint32_t value);

/* Whether `index`, hop `hop` of a row, is a backend of the table. */
bool table_file_check_hop(struct table_file_reader *reader, const void *at, size_t row, unsigned hop, uint32_t index,
	const struct table *table);

/* Room for what the counts say and, unless row_hops is 0, for rows; false, with an error, where
 * there is no memory. */
bool table_file_alloc(
	struct table_file_reader *reader, struct table *table, uint32_t backends, uint32_t binds, uint8_t row_hops);

/* The readers: true when *set is whole; else there are errors, and *set may be half filled. */
bool table_file_parse_v2(struct table_file_reader *reader, struct table_set *set);
bool table_file_parse_v3(struct table_file_reader *reader, struct table_set *set);

/* The size of the encoded set, and the encoding into that many zeroed bytes. The set must fit the
 * version. */
size_t table_file_size_v2(const struct table_set *set);
void table_file_encode_v2(const struct table_set *set, uint8_t *bytes);
size_t table_file_size_v3(const struct table_set *set);
void table_file_encode_v3(const struct table_set *set, uint8_t *bytes);

#endif
