/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program needs to read connection IDs: tables and keys of AES-128, and the servers. One thread. */
#pragma once

#include "redirect/config/redirect_quic.h"
#include "redirect/kernel/quic_wire.h"

/* Computes the read-only data of a program. */
void cids_fill(const struct redirect_quic_conf *conf, struct redirect_quic *data);

/* Writes the servers into the empty map `servers`. Returns 0 or -errno. */
int cids_put_servers(const struct redirect_quic_conf *conf, int servers);
