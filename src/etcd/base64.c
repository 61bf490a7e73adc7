/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd_core.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t size)
{
	const uint8_t *in = bytes;
	char *text = malloc((size + 2) / 3 * 4 + 1), *out = text;

	for (size_t i = 0; text && i < size; i += 3) {
		uint32_t second = i + 1 < size ? in[i + 1] : 0, third = i + 2 < size ? in[i + 2] : 0;

		*out++ = digits[in[i] >> 2];
		*out++ = digits[(in[i] & 3) << 4 | second >> 4];
		*out++ = i + 1 < size ? digits[(second & 15) << 2 | third >> 6] : '=';
		*out++ = i + 2 < size ? digits[third & 63] : '=';
	}
	if (text)
		*out = '\0';
	return text;
}

char *base64_decode(const char *text, size_t *size)
{
	size_t length = strlen(text), used = length, at = 0;
	char *bytes = length % 4 ? NULL : malloc(length / 4 * 3 + 1);
	uint32_t group = 0;

	while (used && length - used < 2 && text[used - 1] == '=')
		used--;
	for (size_t i = 0; bytes && i < used; i++) {
		const char *digit = memchr(digits, text[i], 64);

		if (!digit) {
			free(bytes);
			return NULL;
		}
		group = group << 6 | (uint32_t)(digit - digits);
		if (i % 4)
			bytes[at++] = (char)(group >> (6 - i % 4 * 2));
	}
	if (bytes)
		bytes[at] = '\0';
	*size = at;
	return bytes;
}
