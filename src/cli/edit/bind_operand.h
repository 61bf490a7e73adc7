/* SPDX-License-Identifier: BSD-3-Clause */
/* A bind as users type it: ADDRESS:PORT/PROTO. Pure. */
#pragma once

#include "table/table.h"

/* The form, for messages; and examples to follow it. */
#define BIND_OPERAND_EXAMPLES ", such as 203.0.113.10:443/tcp, 203.0.113.64/29:22/tcp or [2001:db8::10]:80-443/tcp"
#define BIND_OPERAND_FORM     "ADDRESS:PORT/tcp, /udp or /quic" BIND_OPERAND_EXAMPLES

/* Parses a bind: an address or prefix, IPv6 in brackets; a port or a range of ports; tcp, udp or quic. False: *bind is
 * undefined. */
bool bind_operand_parse(const char *text, struct table_bind *bind);
