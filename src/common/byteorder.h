/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and stores of big- and little-endian integers at any alignment. They use compiler builtins, because compilers
 * can vectorise these, but not inline assembly.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "big-endian hosts are not supported: DPDK's drivers and the table files assume little-endian"
#endif

static inline uint16_t load_be16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return __builtin_bswap16(value);
}

static inline void store_be16(void *to, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint32_t load_be32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return __builtin_bswap32(value);
}

static inline void store_be32(void *to, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint64_t load_be64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return __builtin_bswap64(value);
}

static inline uint16_t load_le16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint32_t load_le32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint64_t load_le64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline void store_le16(void *to, uint16_t value)
{
	memcpy(to, &value, sizeof(value));
}

static inline void store_le32(void *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
}

static inline void store_le64(void *to, uint64_t value)
{
	memcpy(to, &value, sizeof(value));
}
