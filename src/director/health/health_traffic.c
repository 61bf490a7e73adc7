/* SPDX-License-Identifier: BSD-3-Clause */
/* Health: packets lost between the director and its ports, within the last HEALTH_WINDOW_TICKS ticks. */
#include <inttypes.h>

#include "director/health/health_watch.h"

/* Losses below this percentage are left to the counters. */
#define DEGRADED_PERCENT 1
#define FAILING_PERCENT  50
#define FAILING_LEAST    100 /* packets; an idle director does not fail because of one */

/*
 * Adds up what the ports have lost. A port's own counters start again at 0 when it is reset, and cannot be read
 * meanwhile.
 */
static uint64_t lost_in_ports(struct health_watch *watch)
{
	for (uint16_t i = 0; i < watch->ports->count; i++) {
		uint64_t lost, seen = watch->lost_by_port[i];
		struct rte_eth_stats stats;

		if (!port_is_used(&watch->ports->list[i]) || !port_is_running(&watch->ports->list[i]) ||
			rte_eth_stats_get(watch->ports->list[i].id, &stats))
			continue;
		lost = stats.imissed + stats.rx_nombuf;
		watch->lost_in_ports += lost >= seen ? lost - seen : lost;
		watch->lost_by_port[i] = lost;
	}
	return watch->lost_in_ports;
}

static struct health_counts count_now(struct health_watch *watch)
{
	struct counters sum;

	workers_sum(watch->workers, &sum);
	return (struct health_counts){
		.received = sum.received,
		.tx_packets = sum.tx_packets,
		.tx_failed = sum.verdicts[VERDICT_DROP_TX_FULL],
		.exceptions = sum.verdicts[VERDICT_EXCEPTION],
		/* Anybody can flood the classes ICMP and other. Their limits then work as they should. */
		.exceptions_failed = sum.verdicts[VERDICT_DROP_EXCEPTION_FULL] + sum.exception_limited_neighbour +
				     sum.exception_limited_link + sum.exception_limited_routing,
		.rx_failed = lost_in_ports(watch) + sum.verdicts[VERDICT_DROP_NO_BUFFER],
	};
}

void health_traffic_sample(struct health_watch *watch)
{
	watch->window[watch->ticks++ % HEALTH_WINDOW_TICKS] = count_now(watch);
}

/*
 * Appends a reason if at least DEGRADED_PERCENT percent of the packets were lost. `problem` and `remedy` are part
 * of its text.
 */
static void add_loss(struct health_report *report, enum health_cause cause, const char *object, uint64_t lost,
	uint64_t passed, const char *problem, const char *remedy)
{
	uint64_t all = lost + passed;
	bool fails = cause == HEALTH_TRANSMIT_FAILS && lost >= FAILING_LEAST && lost * 100 > all * FAILING_PERCENT;

	if (lost && lost * 100 >= all * DEGRADED_PERCENT)
		health_add(report, cause, fails ? HEALTH_FAILS : HEALTH_DEGRADES, object,
			"%s %" PRIu64 " of %" PRIu64 " packets within %d ticks: %s", problem, lost, all,
			HEALTH_WINDOW_TICKS, remedy);
}

void health_traffic(struct health_watch *watch, struct health_report *report)
{
	struct health_counts now, then;

	if (watch->ticks < 2)
		return;
	now = watch->window[(watch->ticks - 1) % HEALTH_WINDOW_TICKS];
	then = watch->window[watch->ticks < HEALTH_WINDOW_TICKS ? 0 : watch->ticks % HEALTH_WINDOW_TICKS];
	add_loss(report, HEALTH_TRANSMIT_FAILS, "transmit queues", now.tx_failed - then.tx_failed,
		now.tx_packets - then.tx_packets, "the ports did not accept",
		"see drop_tx_full and the ports' links; the network card or the switch may be overloaded");
	add_loss(report, HEALTH_RECEIVE_FAILS, "receive queues", now.rx_failed - then.rx_failed,
		now.received - then.received, "the director was too slow for, or had no buffer for,",
		"see rx_missed, rx_no_buffer and drop_no_buffer; give it more lcores or more memory");
	add_loss(report, HEALTH_EXCEPTION_DROPS, "exception path", now.exceptions_failed - then.exceptions_failed,
		now.exceptions - then.exceptions, "it did not take",
		"see drop_exception_full and exception_limited_*, and look for a flood");
}
