/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden vectors (tests/vectors), which the Python model writes. If they are wrong, these functions end the test
 * program.
 */
#pragma once

#include <arpa/inet.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/steering.h"

/* The caller owns the document. */
static inline json_t *vectors_load(const char *name)
{
	char path[4096];
	json_error_t error;
	json_t *document;

	snprintf(path, sizeof(path), "%s/%s", VECTORS_DIR, name);
	document = json_load_file(path, 0, &error);
	if (!document) {
		fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
		exit(1);
	}
	return document;
}

/* A member that must be there. */
static inline json_t *vectors_get(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value) {
		fprintf(stderr, "vectors: no member \"%s\"\n", key);
		exit(1);
	}
	return value;
}

static inline const char *vectors_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(vectors_get(object, key));

	return text ? text : "";
}

static inline uint32_t vectors_number(const json_t *object, const char *key)
{
	return (uint32_t)json_integer_value(vectors_get(object, key));
}

/* Decodes hex digits; returns how many bytes they are. */
static inline uint32_t vectors_hex(const char *hex, uint8_t *bytes, uint32_t room)
{
	uint32_t size = 0;
	unsigned byte;

	for (; *hex; hex += 2) {
		if (size == room || sscanf(hex, "%2x", &byte) != 1) {
			fprintf(stderr, "vectors: %.40s...: no hex, or more than %u bytes\n", hex, room);
			exit(1);
		}
		bytes[size++] = (uint8_t)byte;
	}
	return size;
}

static inline void vectors_mac(const char *text, uint8_t mac[6])
{
	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4, mac + 5) != 6) {
		fprintf(stderr, "vectors: %s: no MAC address\n", text);
		exit(1);
	}
}

static inline uint8_t vectors_fields(const json_t *fields)
{
	return (uint8_t)((json_is_true(json_object_get(fields, "src_addr")) ? STEERING_SOURCE_ADDRESS : 0) |
			 (json_is_true(json_object_get(fields, "dst_addr")) ? STEERING_DESTINATION_ADDRESS : 0) |
			 (json_is_true(json_object_get(fields, "src_port")) ? STEERING_SOURCE_PORT : 0) |
			 (json_is_true(json_object_get(fields, "dst_port")) ? STEERING_DESTINATION_PORT : 0));
}

/* The steering config of a director.conf written as JSON, with the defaults of the reference. */
static inline struct steering_config vectors_steering(const json_t *config)
{
	const json_t *mtu = json_object_get(config, "outbound_mtu");
	const char *path = json_string_value(json_object_get(config, "exception_path"));
	struct steering_config steering = {
		.hash_fields = vectors_fields(json_object_get(config, "hash_fields")),
		.alt_hash_fields = vectors_fields(json_object_get(config, "alt_hash_fields")),
		.forward_ping = !json_is_false(json_object_get(config, "forward_icmp_ping_responses")),
		.exception_path = path && strcmp(path, "none") != 0,
		.udp_checksum = json_is_true(json_object_get(config, "outbound_udp_checksum")),
		.send_too_big = json_is_true(json_object_get(config, "send_icmp_too_big")),
		.reply_without_df = json_is_true(json_object_get(config, "send_icmp_too_big_without_df")),
		.outbound_mtu = (uint16_t)(mtu ? json_integer_value(mtu) : 1500),
	};

	if (!steering.hash_fields)
		steering.hash_fields = STEERING_SOURCE_ADDRESS;
	return steering;
}
