/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/reload/reload_next_hops.h"

#include <errno.h>
#include <stdlib.h>

int reload_next_hops_build(struct reload *reload, struct live_table *live)
{
	for (uint16_t port = 0; port < reload->port_count; port++) {
		live->next_hops[port] = reload->next_hops(reload->next_hops_context, live->routes, port);
		if (!live->next_hops[port])
			return -ENOMEM;
	}
	return 0;
}

void reload_next_hops_collect(struct reload *reload)
{
	struct reload_retired **at = &reload->retired;

	while (*at) {
		struct reload_retired *retired = *at;

		if (rte_rcu_qsbr_check(reload->shared->qsbr, retired->token, false) != 1) {
			at = &retired->next;
			continue;
		}
		*at = retired->next;
		next_hops_free(retired->next_hops);
		free(retired);
	}
}

static void retire(struct reload *reload, struct next_hops *next_hops)
{
	struct reload_retired *retired = malloc(sizeof(*retired));

	if (!retired) {
		rte_rcu_qsbr_synchronize(reload->shared->qsbr, RTE_QSBR_THRID_INVALID);
		next_hops_free(next_hops);
		return;
	}
	*retired = (struct reload_retired){reload->retired, next_hops, rte_rcu_qsbr_start(reload->shared->qsbr)};
	reload->retired = retired;
}

void reload_next_hops_publish(struct reload *reload, uint16_t port, struct next_hops *next_hops)
{
	struct next_hops **at = &reload->shared->live->next_hops[port];

	retire(reload, __atomic_exchange_n(at, next_hops, __ATOMIC_ACQ_REL));
	reload_next_hops_collect(reload);
}

void reload_next_hops_free(struct live_table *live)
{
	for (unsigned port = 0; port < WORKER_MAX_PORTS; port++)
		next_hops_free(live->next_hops[port]);
}
