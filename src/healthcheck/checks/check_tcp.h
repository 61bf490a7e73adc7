/* SPDX-License-Identifier: BSD-3-Clause */
/* The tcp check passes when a connection is established. It closes the connection at once. */
#ifndef GLB_HEALTHCHECK_CHECKS_CHECK_TCP_H
#define GLB_HEALTHCHECK_CHECKS_CHECK_TCP_H

#include "healthcheck/checks/probe.h"

extern const struct probe_method check_tcp;

#endif
