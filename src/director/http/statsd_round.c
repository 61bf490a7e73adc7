/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/http/statsd_round.h"

#include "common/clock.h"
#include "program/log.h"
#include "program/statsd/statsd.h"

enum {
	/* The flush interval of most servers. */
	INTERVAL_MS = 10000,
	/* The longest time between two steps. */
	WAIT_MS = 1000,
	/* Items of the page that a step sends. */
	STEP_ITEMS = 500,
};

void statsd_round_open(struct statsd_round *round, struct director *director, const struct statsd_config *config)
{
	*round = (struct statsd_round){.director = director};
	if (!config->enabled)
		return;
	round->statsd = statsd_open(config);
	if (!round->statsd)
		log_error("statsd: nothing is sent: out of memory");
}

void statsd_round_close(struct statsd_round *round)
{
	if (round->running)
		view_free(round->metrics.view);
	statsd_close(round->statsd);
	round->statsd = NULL;
}

static void begin(struct statsd_round *round, uint64_t now_ms)
{
	round->running = metrics_begin(&round->metrics, round->director,
		&(struct openmetrics){.take = statsd_take, .take_context = round->statsd});
	round->next_ms = now_ms + INTERVAL_MS;
}

int statsd_round_step(struct statsd_round *round)
{
	enum http_more more = HTTP_MORE;
	uint64_t now_ms = clock_now_ms();

	if (!round->statsd)
		return -1;
	if (!round->running && !statsd_ready(round->statsd, now_ms))
		return WAIT_MS;
	if (!round->running && now_ms < round->next_ms)
		return round->next_ms - now_ms < WAIT_MS ? (int)(round->next_ms - now_ms) : WAIT_MS;
	if (!round->running)
		begin(round, now_ms);
	if (!round->running)
		return WAIT_MS;
	for (unsigned i = 0; i < STEP_ITEMS && more == HTTP_MORE; i++)
		more = metrics_step(&round->metrics);
	if (more == HTTP_MORE)
		return 0;
	statsd_end(round->statsd, more == HTTP_END && !round->metrics.view->left_out, now_ms);
	view_free(round->metrics.view);
	round->running = false;
	return WAIT_MS;
}
