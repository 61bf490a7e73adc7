/* SPDX-License-Identifier: BSD-3-Clause */
/* The format: draft-ietf-opsawg-pcapng. All numbers are in the host's byte order, which the first block tells. */
#include "cli/capture/pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum block {
	INTERFACE_BLOCK = 1,
	STATISTICS_BLOCK = 5,
	PACKET_BLOCK = 6,
	SECTION_BLOCK = 0x0a0d0d0a,
};

enum option {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	SECTION_PROGRAM = 4,
	INTERFACE_NAME = 2,
	INTERFACE_DESCRIPTION = 3,
	INTERFACE_MAC = 6,
	INTERFACE_RESOLUTION = 9,
	INTERFACE_FILTER = 11,
	PACKET_FLAGS = 2,
	PACKET_NUMBER = 5,
	STATISTICS_ACCEPTED = 6,
	STATISTICS_LOST = 7,
};

#define LINKTYPE_ETHERNET 1
#define BYTE_ORDER_MAGIC  0x1a2b3c4d
#define UNKNOWN_LENGTH    UINT64_MAX

void pcapng_close(struct pcapng *pcapng)
{
	free(pcapng->bytes);
	pcapng->bytes = NULL;
}

static bool grow(struct pcapng *pcapng, size_t more)
{
	size_t room = pcapng->room ? pcapng->room : 65536;
	uint8_t *bytes;

	while (room < pcapng->size + more)
		room *= 2;
	if (room == pcapng->room)
		return true;
	bytes = realloc(pcapng->bytes, room);
	if (!bytes) {
		pcapng->error = ENOMEM;
		return false;
	}
	pcapng->bytes = bytes;
	pcapng->room = room;
	return true;
}

/* Appends bytes, and zeros up to a multiple of 4. */
static void put(struct pcapng *pcapng, const void *bytes, size_t size)
{
	size_t padded = (size + 3) & ~(size_t)3;

	if (pcapng->error || !grow(pcapng, padded))
		return;
	memcpy(pcapng->bytes + pcapng->size, bytes, size);
	memset(pcapng->bytes + pcapng->size + size, 0, padded - size);
	pcapng->size += padded;
}

static void put32(struct pcapng *pcapng, uint32_t value)
{
	put(pcapng, &value, sizeof(value));
}

/* The format has times as two halves, the upper one first. */
static void put_time(struct pcapng *pcapng, uint64_t time)
{
	put32(pcapng, (uint32_t)(time >> 32));
	put32(pcapng, (uint32_t)time);
}

static void put_option(struct pcapng *pcapng, enum option option, const void *bytes, size_t size)
{
	const uint16_t head[] = {(uint16_t)option, (uint16_t)size};

	put(pcapng, head, sizeof(head));
	if (size)
		put(pcapng, bytes, size);
}

static void put_text(struct pcapng *pcapng, enum option option, const char *text)
{
	if (text && *text)
		put_option(pcapng, option, text, strlen(text));
}

static void begin(struct pcapng *pcapng, enum block type)
{
	pcapng->block = pcapng->size;
	put32(pcapng, type);
	put32(pcapng, 0); /* the length, which end() writes */
}

static void end(struct pcapng *pcapng)
{
	uint32_t size;

	put_option(pcapng, OPTION_END, NULL, 0);
	size = (uint32_t)(pcapng->size + sizeof(size) - pcapng->block);
	put32(pcapng, size);
	if (!pcapng->error)
		memcpy(pcapng->bytes + pcapng->block + sizeof(uint32_t), &size, sizeof(size));
}

void pcapng_put_header(struct pcapng *pcapng, const char *program, const char *comment)
{
	const uint16_t version[] = {1, 0};
	const uint64_t length = UNKNOWN_LENGTH;

	begin(pcapng, SECTION_BLOCK);
	put32(pcapng, BYTE_ORDER_MAGIC);
	put(pcapng, version, sizeof(version));
	put(pcapng, &length, sizeof(length));
	put_text(pcapng, OPTION_COMMENT, comment);
	put_text(pcapng, SECTION_PROGRAM, program);
	end(pcapng);
}

void pcapng_put_interface(struct pcapng *pcapng, const char *name, const char *description, const uint8_t mac[6],
	uint32_t snaplen, const char *filter)
{
	const uint16_t type[] = {LINKTYPE_ETHERNET, 0};
	const uint8_t nanoseconds = 9; /* 10^-9 s */
	char text[600] = ""; /* a first byte of 0: the filter is text */
	size_t size = strlen(filter);

	begin(pcapng, INTERFACE_BLOCK);
	put(pcapng, type, sizeof(type));
	put32(pcapng, snaplen);
	put_text(pcapng, INTERFACE_NAME, name);
	put_text(pcapng, INTERFACE_DESCRIPTION, description);
	put_option(pcapng, INTERFACE_MAC, mac, 6);
	put_option(pcapng, INTERFACE_RESOLUTION, &nanoseconds, 1);
	if (size && size < sizeof(text)) {
		memcpy(text + 1, filter, size);
		put_option(pcapng, INTERFACE_FILTER, text, size + 1);
	}
	end(pcapng);
}

void pcapng_put_packet(struct pcapng *pcapng, const struct pcapng_packet *packet)
{
	const uint32_t flags = packet->direction;

	begin(pcapng, PACKET_BLOCK);
	put32(pcapng, packet->interface);
	put_time(pcapng, packet->time);
	put32(pcapng, packet->captured);
	put32(pcapng, packet->size);
	put(pcapng, packet->frame, packet->captured);
	put_text(pcapng, OPTION_COMMENT, packet->comment);
	put_option(pcapng, PACKET_FLAGS, &flags, sizeof(flags));
	put_option(pcapng, PACKET_NUMBER, &packet->number, sizeof(packet->number));
	end(pcapng);
}

void pcapng_put_statistics(
	struct pcapng *pcapng, uint32_t interface, uint64_t time, uint64_t accepted, uint64_t lost, const char *comment)
{
	begin(pcapng, STATISTICS_BLOCK);
	put32(pcapng, interface);
	put_time(pcapng, time);
	put_text(pcapng, OPTION_COMMENT, comment);
	put_option(pcapng, STATISTICS_ACCEPTED, &accepted, sizeof(accepted));
	put_option(pcapng, STATISTICS_LOST, &lost, sizeof(lost));
	end(pcapng);
}

/* Returns how many of the first `size` bytes are in whole blocks. */
static size_t whole_blocks(const struct pcapng *pcapng, size_t size)
{
	size_t at = 0;
	uint32_t length;

	for (;;) {
		if (at + 2 * sizeof(length) > size)
			return at;
		memcpy(&length, pcapng->bytes + at + sizeof(length), sizeof(length));
		if (at + length > size)
			return at;
		at += length;
	}
}

/* Takes back the part of a block that was written. Other files than regular ones stay as they are. */
static void cut(const struct pcapng *pcapng, size_t written)
{
	struct stat info;

	if (fstat(pcapng->fd, &info) < 0 || !S_ISREG(info.st_mode))
		return;
	if (ftruncate(pcapng->fd, info.st_size - (off_t)(written - whole_blocks(pcapng, written))) < 0)
		return; /* the file ends with a part of a block, which Wireshark reports */
}

int pcapng_flush(struct pcapng *pcapng)
{
	size_t written = 0;

	while (!pcapng->error && written < pcapng->size) {
		ssize_t size = write(pcapng->fd, pcapng->bytes + written, pcapng->size - written);

		if (size > 0)
			written += (size_t)size;
		else if (errno != EINTR)
			pcapng->error = errno;
	}
	if (pcapng->error)
		cut(pcapng, written);
	pcapng->size = 0;
	return pcapng->error;
}
