/* SPDX-License-Identifier: BSD-3-Clause */
/* A binary table in memory. Include cmocka.h first. */
#pragma once

#include "table/file/table_file.h"
#include "tests/unit/table_helpers.h"

struct image {
	uint8_t *bytes;
	size_t size;
};

static inline struct image encode(const struct table_set *set, enum table_file_format format)
{
	struct faults faults = {0};
	struct image image;

	assert_int_equal(table_file_encode(set, format, &image.bytes, &image.size, &faults), 0);
	assert_no_fault(&faults);
	return image;
}
