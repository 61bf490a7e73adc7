/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/exceptions.h"

#include <rte_cycles.h>

#include "worker/tap/tap.h"

enum {
	SMALLEST_BURST = 16, /* packets that a full bucket lets through at once, however low its rate is */
	BURSTS_PER_SECOND = 10, /* or this part of the rate */
};

static struct shared_bucket exceptions_limit(uint32_t rate, uint64_t second)
{
	uint32_t burst = rate / BURSTS_PER_SECOND;

	return shared_bucket_full(rate, burst > SMALLEST_BURST ? burst : SMALLEST_BURST, second);
}

struct exception_limits exceptions_limits(uint32_t control, uint32_t other, uint64_t second)
{
	struct exception_limits limits;

	/* Rounded up, so that a low limit shuts no class. */
	for (unsigned i = 0; i < EXCEPTION_OTHER; i++)
		limits.buckets[i] = exceptions_limit((control + EXCEPTION_OTHER - 1) / EXCEPTION_OTHER, second);
	limits.buckets[EXCEPTION_OTHER] = exceptions_limit(other, second);
	return limits;
}

void exceptions_put_sorted(struct exceptions *exceptions, struct rte_mbuf *mbuf, uint8_t class)
{
	outbox_put(class == EXCEPTION_OTHER ? &exceptions->other : &exceptions->control, mbuf, VERDICT_EXCEPTION, class);
}

static void count_limited(const uint16_t limited[EXCEPTION_CLASSES], uint16_t sum, struct counters *counters)
{
	counters_add(&counters->verdicts[VERDICT_DROP_EXCEPTION_LIMITED], sum);
	counters_add(&counters->exception_limited_neighbour, limited[EXCEPTION_NEIGHBOUR]);
	counters_add(&counters->exception_limited_link, limited[EXCEPTION_LINK]);
	counters_add(&counters->exception_limited_routing, limited[EXCEPTION_ROUTING]);
	counters_add(&counters->exception_limited_icmp, limited[EXCEPTION_ICMP]);
	counters_add(&counters->exception_limited_other, limited[EXCEPTION_OTHER]);
}

static void exceptions_sort(struct exceptions *exceptions, struct counters *counters)
{
	uint16_t limited[EXCEPTION_CLASSES] = {0}, dropped = 0;
	uint64_t now = rte_rdtsc();

	for (uint16_t i = 0; i < exceptions->count; i++) {
		struct rte_mbuf *mbuf = exceptions->mbufs[i];
		uint8_t class = (uint8_t)exception_classify(rte_pktmbuf_mtod(mbuf, uint8_t *), mbuf->data_len);

		if (!exceptions->limits || shared_bucket_take(&exceptions->limits->buckets[class], now)) {
			exceptions_put_sorted(exceptions, mbuf, class);
		} else {
			if (exceptions->tap)
				tap_drop(exceptions->tap, mbuf, VERDICT_DROP_EXCEPTION_LIMITED, CAPTURE_NO_PORT);
			limited[class]++;
			exceptions->mbufs[dropped++] = mbuf;
		}
	}
	exceptions->count = 0;
	if (!dropped)
		return;
	rte_pktmbuf_free_bulk(exceptions->mbufs, dropped);
	count_limited(limited, dropped, counters);
}

void exceptions_send(struct exceptions *exceptions, const struct queue *queue, struct counters *counters)
{
	if (exceptions->count)
		exceptions_sort(exceptions, counters);
	transmit_exceptions(queue, &exceptions->control, counters);
	transmit_exceptions(queue, &exceptions->other, counters);
}
