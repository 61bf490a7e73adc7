/* SPDX-License-Identifier: BSD-3-Clause */
/* The request of one grpc probe and its expected reply, as parts of struct http_request, which owns all memory. One
 * thread. */
#pragma once

#include <stdbool.h>

#include "healthcheck/checks/http/http_request.h"

#define GRPC_PATH "/grpc.health.v1.Health/Check"

/* Sets the method, version, headers and body of the request. Returns false if out of memory. */
bool grpc_request_set(struct http_request *request, const struct probe *probe);

/* Ends the probe as the complete reply deserves. */
void grpc_request_judge(const struct http_request *request, struct probe *probe);
