/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/director.h"

#include "program/log.h"
#include "table/table_lint.h"

void director_lint_table(const struct director *director)
{
	const struct netaddr own = netaddr_from_bytes(NETADDR_V4, &director->conf.outbound_src_ip);
	struct faults faults = {.file = director->options.forwarding_table};

	table_lint_own_address(&director->shared.live->routes->set, &own, &faults);
	table_lint_mtu(&director->shared.live->routes->set, director->conf.steering.outbound_mtu,
		director->conf.steering.alt_hash_fields != 0, &faults);
	log_faults(&faults, FAULTS_ALL);
}
