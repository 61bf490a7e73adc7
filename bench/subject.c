/* SPDX-License-Identifier: BSD-3-Clause */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

void subject_open(struct subject *subject, uint16_t port, struct routes *routes)
{
	static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	struct conf *conf = &subject->director.conf;
	struct worker *worker;

	*subject = (struct subject){.live = {.routes = routes, .generation = 1}};
	subject->worker = worker = rte_zmalloc("worker", sizeof(*worker), RTE_CACHE_LINE_SIZE);
	subject->director.reload.qsbr =
		rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE);
	if (!worker || !subject->director.reload.qsbr ||
		rte_rcu_qsbr_init(subject->director.reload.qsbr, 1)) {
		fprintf(stderr, "no memory for a worker\n");
		exit(EXIT_FAILURE);
	}
	for (unsigned i = 0; i < TABLE_MAX_TABLES; i++)
		subject->live.slot[i] = (uint8_t)i;
	subject->director.reload.live = &subject->live;
	memcpy(&subject->director.gateway_mac, macs[0], sizeof(macs[0]));
	conf->rules = (struct rules){
		.hash_fields = RULES_SOURCE_ADDRESS, .forward_ping = true, .outbound_mtu = 1500};
	subject->path = (struct path){
		.kind = PATH_STEER, .in.port = port, .out.port = port, .exception.port = port};
	memcpy(subject->path.source_mac, macs[1], sizeof(macs[1]));
	worker->director = &subject->director;
	worker->path_count = 1;
	worker->paths = &subject->path;
	worker->pipeline.rules = &conf->rules;
	worker->pipeline.outer.source_ip = 0x010200c0;
}

void subject_close(struct subject *subject)
{
	rte_free(subject->worker);
	rte_free(subject->director.reload.qsbr);
}

void subject_run(struct subject *subject)
{
	worker_run(subject->worker);
}
