/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for the parsers of binary tables of all versions. They add faults that name the byte offset, the place, the
 * field and its value, and check the fields that the versions share. One reader per file; everything is borrowed. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/table.h"

struct binary_reader {
	const uint8_t *bytes;
	size_t size;
	struct faults *faults;
	unsigned rejected; /* errors so far */
	char place[64]; /* prefix of the fields' names: "tables[0].binds[3]" */
};

/* Sets the place that the following faults name. */
void binary_reader_at(struct binary_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds an error "byte OFFSET (PLACE.FIELD): TEXT"; `at` points into the file. After 20 errors, a last one says that
 * the rest is not listed. */
void binary_reader_reject(struct binary_reader *reader, const void *at, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns `ok`. If it is false, adds the error "VALUE; expected EXPECTED". */
bool binary_reader_check(
	struct binary_reader *reader, bool ok, const void *at, const char *field, uint64_t value, const char *expected);

/* The same for a field of the struct that `wire` points to. */
#define BINARY_CHECK(reader, wire, field, ok, expected) \
	binary_reader_check(reader, ok, &(wire)->field, #field, (uint64_t)(wire)->field, expected)

/* Adds a warning "byte OFFSET (PLACE.FIELD): WHAT". */
void binary_reader_warn(struct binary_reader *reader, const void *at, const char *field, const char *what);

/* Check fields that all versions have. `value` was read at `at`. False: an error was added. */
bool binary_reader_check_family(struct binary_reader *reader, const void *at, uint32_t value);
bool binary_reader_check_prefix(struct binary_reader *reader, const void *at, uint32_t value, uint32_t family);
bool binary_reader_check_protocol(struct binary_reader *reader, const void *at, uint32_t value);
bool binary_reader_check_ports(struct binary_reader *reader, const void *at, uint32_t start, uint32_t end);
bool binary_reader_check_zero(struct binary_reader *reader, const uint8_t *at, size_t size, const char *field);
bool binary_reader_check_health(struct binary_reader *reader, const void *at, uint32_t value);

/* Checks that `index`, which was read as hop `hop` of row `row`, is less than the table's backend count. */
bool binary_reader_check_hop(struct binary_reader *reader, const void *at, size_t row, unsigned hop, uint32_t index,
	const struct table *table);

/* Allocates `count` empty tables, and sets the count. False, with an error: out of memory. */
bool binary_reader_alloc_set(struct binary_reader *reader, struct table_set *set, uint32_t count);

/* Allocates the table's backends and binds, and rows if `row_hops` is not 0, and sets their counts. False, with an
 * error: out of memory; the caller frees the table in either case. */
bool binary_reader_alloc_table(
	struct binary_reader *reader, struct table *table, uint32_t backends, uint32_t binds, uint8_t row_hops);
