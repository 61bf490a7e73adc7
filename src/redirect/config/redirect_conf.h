/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redirect.conf in libconfig syntax (keys: docs/reference/redirect.md#redirectconf), read once into plain data. Nothing
 * changes a struct redirect_conf after redirect_conf_read(). Depends on no libbpf, so that glb-director-cli checks the
 * file. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"
#include "common/netaddr.h"
#include "conf/conf_key.h"
#include "redirect/config/redirect_quic.h"

struct redirect_prefixes {
	bool any; /* every address; then count is 0 */
	size_t count;
	struct netprefix *items; /* owned by the struct redirect_conf */
};

struct redirect_conf {
	struct redirect_prefixes allow_from; /* outer source addresses */
	bool allow_to_local; /* the addresses of this host; then allow_to is empty */
	struct redirect_prefixes allow_to; /* inner destination addresses */
	struct redirect_prefixes next_hops;
	unsigned max_hops; /* how often proxies may have passed a packet on before this host does */
	struct redirect_quic_conf quic; /* without configurations, connection IDs decide nothing */
};

/* Sets what holds without a file: any sender, local destinations. */
void redirect_conf_init(struct redirect_conf *conf);

/*
 * Reads and validates the file `path`. Adds all faults with their line and key, for example "FILE:3: allow_from[1]:
 * ...", where FILE is faults->file. 0, or -EINVAL: faults has errors, or another -errno: the file cannot be read, and
 * faults has an error that says so. The caller calls redirect_conf_free() in either case.
 */
int redirect_conf_read(const char *path, struct redirect_conf *conf, struct faults *faults);
void redirect_conf_free(struct redirect_conf *conf);

/* The keys of redirect.conf. */
extern const struct conf_key redirect_conf_keys[];
