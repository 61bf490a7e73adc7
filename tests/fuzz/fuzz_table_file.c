/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads any bytes as a binary table. Version 3 is also tried with a correct size and digest, so that the fuzzer gets
 * past these checks. A table that was read must be the same after it was written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "table/file/table_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct table_set *set, uint32_t version, const uint8_t *original, size_t original_size)
{
	struct faults faults = {0};
	struct table_set again;
	uint8_t *bytes = NULL;
	size_t size;

	if (table_file_encode(set, (enum table_file_format)version, &bytes, &size, &faults))
		abort();
	if (table_file_parse(bytes, size, &again, &version, &faults))
		abort();
	if (table_set_digest(set) != table_set_digest(&again))
		abort();
	/* A set has one encoding of version 3. */
	if (version == 3 && (size != original_size || memcmp(bytes, original, size) != 0))
		abort();
	table_set_free(&again);
	free(bytes);
	faults_clear(&faults);
}

static void try(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};
	struct table_set set;
	uint32_t version;

	if (table_file_parse(data, size, &set, &version, &faults) == 0)
		round_trip(&set, version, data, size);
	else if (!faults.errors || set.tables)
		abort();
	table_set_free(&set);
	faults_clear(&faults);
}

static void sign(uint8_t *bytes, uint64_t size)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	uint64_t digest;

	memcpy(bytes + 8, &size, 8);
	memset(bytes + 16, 0, 8);
	digest = siphash(zero, bytes, size);
	memcpy(bytes + 16, &digest, 8);
}

/*
 * Tables are longer than inputs. So the first byte of the input is the number of blocks of 4096 zeros to append. Zeros
 * are valid rows.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t zeros = size ? (size_t)data[0] * 4096 : 0;
	uint8_t *bytes = calloc(1, size + zeros);

	try(data, size);
	if (size >= 40) {
		memcpy(bytes, data + 1, size - 1);
		size += zeros - 1;
		try(bytes, size);
		if (size >= 40 && bytes[4] == 3) {
			sign(bytes, size);
			try(bytes, size);
		}
	}
	free(bytes);
	return 0;
}
