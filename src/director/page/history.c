/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/page/history.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "director/view/view.h"

/* A baseline is replaced after this time. */
#define BASELINE_NS (60 * CLOCK_NS_PER_S)

enum {
	/* Backends whose counts are summed while reload.lock is held, and the milliseconds until the next ones. */
	BACKENDS_AT_ONCE = 1024,
	BACKENDS_PAUSE_MS = 1,
};

static void clear(struct history *history)
{
	for (unsigned i = 0; i < COUNTERS_VALUES; i++)
		series_clear(&history->counters[i]);
	series_clear(&history->drops);
	for (unsigned i = 0; i < PLAN_MAX_LCORES; i++) {
		series_clear(&history->lcores[i].busy);
		series_clear(&history->lcores[i].received);
	}
	for (unsigned i = 0; i < PLAN_MAX_PORTS; i++) {
		series_clear(&history->ports[i].rx);
		series_clear(&history->ports[i].tx);
		series_clear(&history->ports[i].rx_bytes);
		series_clear(&history->ports[i].tx_bytes);
	}
}

struct history *history_open(struct director *director, struct reload *reload)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->director = director;
	history->reload = reload;
	clear(history);
	return history;
}

static void free_baseline(struct history_baseline *baseline)
{
	free(baseline->counts);
	*baseline = (struct history_baseline){0};
}

void history_close(struct history *history)
{
	if (!history)
		return;
	free_baseline(&history->baselines[0]);
	free_baseline(&history->baselines[1]);
	free(history);
}

static void sample_counters(struct history *history, const struct counters *sum)
{
	uint64_t drops = 0;

	for (unsigned i = 0; i < COUNTERS_VALUES; i++) {
		uint64_t value = facts_number(&counters_facts[i], sum);

		series_add(&history->counters[i], history->index, value, history->seconds);
		if (strncmp(counters_facts[i].key, "drop_", strlen("drop_")) == 0)
			drops += value;
	}
	series_add(&history->drops, history->index, drops, history->seconds);
}

/* Forgets the rates of slots that have another table now, or none. reload->lock is held. */
static void follow_slots(struct history *history)
{
	for (unsigned i = 0; i < RELOAD_SLOTS; i++) {
		struct history_table *table = &history->tables[i];
		const char *name = history->reload->slots[i].name;

		if (strcmp(table->name, name) == 0)
			continue;
		strcpy(table->name, name);
		series_clear(&table->packets);
		series_clear(&table->bytes);
	}
}

/* Adds the next tables to the sample. Returns whether there are more. */
static bool sample_tables(struct history *history)
{
	const struct live_table *live = reload_lock(history->reload);
	/* With another table, the next sample begins. */
	uint32_t count = history->generation == live->generation ? live->routes->set.count : 0;

	follow_slots(history);
	for (uint32_t summed = 0; history->next_table < count && summed < BACKENDS_AT_ONCE; history->next_table++) {
		struct forwarded sum = table_counts_table(&live->counts, live->routes, history->next_table);
		struct history_table *table = &history->tables[live->slot[history->next_table]];

		series_add(&table->packets, history->index, sum.packets, history->seconds);
		series_add(&table->bytes, history->index, sum.bytes, history->seconds);
		summed += live->routes->set.tables[history->next_table].backend_count;
	}
	reload_unlock(history->reload);
	return history->next_table < count;
}

static void sample_lcore(struct history *history, const struct view_lcore *view, struct history_lcore *lcore)
{
	uint8_t worst = 0;

	series_add(&lcore->busy, history->index, (uint64_t)(view->gaps.busy_seconds * 1e6), history->seconds);
	series_add(&lcore->received, history->index, view->counters.received, history->seconds);
	for (unsigned i = 0; i <= POLL_GAPS_BOUNDS; i++) {
		if (view->gaps.counts[i] != lcore->counts[i])
			worst = (uint8_t)(i + 1);
		lcore->counts[i] = view->gaps.counts[i];
	}
	lcore->gaps[history->index] = worst;
}

static void sample_port(struct history *history, const struct rte_eth_stats *stats, struct history_port *rates)
{
	series_add(&rates->rx, history->index, stats->ipackets, history->seconds);
	series_add(&rates->tx, history->index, stats->opackets, history->seconds);
	series_add(&rates->rx_bytes, history->index, stats->ibytes, history->seconds);
	series_add(&rates->tx_bytes, history->index, stats->obytes, history->seconds);
}

/* Replaces the older baseline by the newer one, and that by an empty one of now. reload->lock is held. */
static void begin_baseline(struct history *history, const struct live_table *live, uint64_t now_ns)
{
	struct history_baseline *older = &history->baselines[0], *newer = &history->baselines[1];
	uint32_t count = live->routes->address_count;

	free_baseline(older);
	*older = *newer;
	*newer = (struct history_baseline){
		.at_ns = now_ns,
		.size = count,
		.counts = malloc(count * sizeof(*newer->counts)),
	};
	if (!newer->counts)
		free_baseline(newer);
}

/* Adds the counts of the next backends to the newer baseline. Returns whether there are more. */
static bool fill_baseline(struct history *history)
{
	struct history_baseline *newer = &history->baselines[1];
	const struct live_table *live;

	if (newer->known == newer->size)
		return false;
	live = reload_lock(history->reload);
	if (history->generation != live->generation)
		newer->size = newer->known; /* the next sample begins with the new table */
	for (unsigned n = 0; n < BACKENDS_AT_ONCE && newer->known < newer->size; n++, newer->known++)
		newer->counts[newer->known] = table_counts_backend(&live->counts, newer->known);
	reload_unlock(history->reload);
	return newer->known < newer->size;
}

/* reload->lock is held. */
static void sample_backends(struct history *history, const struct live_table *live, uint64_t now_ns)
{
	if (history->generation != live->generation) {
		free_baseline(&history->baselines[0]);
		free_baseline(&history->baselines[1]);
		history->generation = live->generation;
	}
	if (!history->baselines[1].at_ns || now_ns - history->baselines[1].at_ns >= BASELINE_NS)
		begin_baseline(history, live, now_ns);
}

static void sample(struct history *history, uint64_t now_ns)
{
	struct view *view = view_take(history->director, false);

	if (!view)
		return; /* the next sample is about a longer time */
	history->seconds = history->sampled_ns ? (double)(now_ns - history->sampled_ns) / 1e9 : 0;
	history->sampled_ns = now_ns;
	history->index = (history->index + 1) % SERIES_SAMPLES;
	sample_backends(history, reload_lock(history->reload), now_ns);
	reload_unlock(history->reload);
	history->next_table = 0;
	sample_counters(history, &view->sum);
	for (uint16_t i = 0; i < view->lcore_count; i++)
		sample_lcore(history, &view->lcores[i], &history->lcores[i]);
	for (uint16_t i = 0; i < view->port_count; i++)
		sample_port(history, &view->ports[i].stats, &history->ports[i]);
	view_free(view);
}

int history_step(struct history *history)
{
	uint64_t now_ns = clock_now_ns(), age_ms = (now_ns - history->sampled_ns) / 1000000;

	if (!history->sampled_ns || age_ms >= HISTORY_INTERVAL_MS) {
		sample(history, now_ns);
		age_ms = 0;
	}
	return sample_tables(history) || fill_baseline(history) ? BACKENDS_PAUSE_MS : (int)(HISTORY_INTERVAL_MS - age_ms);
}

struct history_rate history_backend(const struct history *history, const struct live_table *live, uint32_t backend)
{
	const struct history_baseline *from = &history->baselines[history->baselines[0].at_ns ? 0 : 1];
	double seconds = (double)(clock_now_ns() - from->at_ns) / 1e9;
	struct forwarded now;

	/* Less than a second says little. */
	if (history->generation != live->generation || !from->at_ns || backend >= from->known || seconds < 1)
		return (struct history_rate){NAN, NAN};
	now = table_counts_backend(&live->counts, backend);
	if (now.packets < from->counts[backend].packets)
		return (struct history_rate){NAN, NAN};
	return (struct history_rate){
		.packets = (double)(now.packets - from->counts[backend].packets) / seconds,
		.bytes = (double)(now.bytes - from->counts[backend].bytes) / seconds,
	};
}

double history_worst_gap(const struct history_lcore *lcore)
{
	uint8_t worst = 0;

	for (unsigned i = 0; i < SERIES_SAMPLES; i++)
		if (lcore->gaps[i] > worst)
			worst = lcore->gaps[i];
	if (!worst)
		return NAN;
	return worst > POLL_GAPS_BOUNDS ? INFINITY : poll_gaps_bounds[worst - 1];
}
