/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/grpc/grpc_message.h"

#include <stdbool.h>
#include <string.h>

/* A flag that says if the message is compressed, and its length in network byte order. */
#define PREFIX_SIZE 5

/* Types of fields in protobuf's encoding. */
enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* What is left to read. */
struct bytes {
	const uint8_t *at;
	size_t size;
};

size_t grpc_request_write(uint8_t *to, const char *service)
{
	size_t name = strlen(service), size = PREFIX_SIZE;

	if (name) {
		to[size++] = 1 << 3 | BYTES;
		if (name >= 0x80)
			to[size++] = (uint8_t)(0x80 | (name & 0x7f));
		to[size++] = (uint8_t)(name >= 0x80 ? name >> 7 : name);
		memcpy(to + size, service, name);
		size += name;
	}
	to[0] = to[1] = to[2] = 0;
	to[3] = (uint8_t)((size - PREFIX_SIZE) >> 8);
	to[4] = (uint8_t)(size - PREFIX_SIZE);
	return size;
}

static bool skip(struct bytes *from, uint64_t size)
{
	if (size > from->size)
		return false;
	from->at += size;
	from->size -= size;
	return true;
}

/* Returns false if the number is cut off or does not fit into 64 bits. */
static bool read_varint(struct bytes *from, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && from->size; shift += 7) {
		uint8_t byte = *from->at;

		skip(from, 1);
		if (shift == 63 && byte > 1)
			return false;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static bool skip_field(struct bytes *from, unsigned type)
{
	uint64_t value;

	switch (type) {
	case VARINT:
		return read_varint(from, &value);
	case FIXED64:
		return skip(from, 8);
	case BYTES:
		return read_varint(from, &value) && skip(from, value);
	case FIXED32:
		return skip(from, 4);
	default: /* groups, which no new message has */
		return false;
	}
}

/* The last value of the field counts, and a missing one is 0, as protobuf says. */
static bool read_message(struct bytes from, uint64_t *status)
{
	uint64_t tag;

	*status = 0;
	while (from.size) {
		if (!read_varint(&from, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
			return false;
		if (tag == (1 << 3 | VARINT) ? !read_varint(&from, status) : !skip_field(&from, tag & 7))
			return false;
	}
	return true;
}

const char *grpc_reply_read(const uint8_t *body, size_t size, uint64_t *status)
{
	uint32_t length;

	if (size == 0)
		return "the reply has no message";
	if (body[0])
		return "the message is compressed";
	if (size < PREFIX_SIZE)
		return "the message is cut off";
	length = (uint32_t)body[1] << 24 | (uint32_t)body[2] << 16 | (uint32_t)body[3] << 8 | body[4];
	if (length > GRPC_REPLY_MAX)
		return "the message has more than 1024 bytes";
	if (size - PREFIX_SIZE < length)
		return "the message is cut off";
	if (size - PREFIX_SIZE > length)
		return "the reply has more than one message";
	if (!read_message((struct bytes){body + PREFIX_SIZE, length}, status))
		return "the message is not a HealthCheckResponse";
	return NULL;
}

const char *grpc_serving_name(uint64_t status)
{
	static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : NULL;
}
