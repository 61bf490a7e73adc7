/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two messages of gRPC's health service, grpc.health.v1.Health/Check: writes a HealthCheckRequest and reads a
 * HealthCheckResponse, each with its 5-byte prefix. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "health/settings.h"

/* Bytes: the prefix, a tag, a length of at most two bytes, and the name. */
#define GRPC_REQUEST_MAX (5 + 1 + 2 + CHECK_GRPC_SERVICE_MAX)

/* Bytes of a reply's message, without its prefix. A good one has 2. */
#define GRPC_REPLY_MAX 1024

/* The status of a service that works (HealthCheckResponse.SERVING). */
#define GRPC_SERVING 1

/*
 * Writes the request into `to`, which has GRPC_REQUEST_MAX bytes, and returns its size. An empty `service` stands for
 * the whole server. A name has at most CHECK_GRPC_SERVICE_MAX bytes.
 */
size_t grpc_request_write(uint8_t *to, const char *service);

/* Reads the body of a response into *status. Returns NULL, or what is wrong with the body. */
const char *grpc_reply_read(const uint8_t *body, size_t size, uint64_t *status);

/* Returns the name of a status, for example "NOT_SERVING"; NULL: there is none. */
const char *grpc_serving_name(uint64_t status);
