/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The result that an error of a probe has. An error is CHECK_NOT_RUN only if this host provably caused it. Every other
 * error is a failure of the proxy, because a sick proxy must not stay in service. docs/reference/healthcheck.md has the
 * same lists. Pure.
 */
#pragma once

#include <stdbool.h>

#include "healthcheck/checks/check.h"

/* `error` is an errno of a socket call, or of an ICMP error that the socket received. */
enum check_result error_result_errno(int error);

/*
 * `code` is a CURLcode. `ready` says if the connection was ready for the request. From then on, what the proxy sends
 * decides, so no error is local. Codes that are newer than this program are failures of the proxy, too.
 */
enum check_result error_result_curl(int code, bool ready);
