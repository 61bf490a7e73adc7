/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/file.h"
#include "common/text.h"
#include "director/director.h"
#include "director/view/view.h"
#include "program/html/html.h"
#include "program/member.h"

#define FLEET_STATUS_MAX 65536 /* bytes */

struct figures {
	struct rates received, forwarded, bytes, drops;
	double drop_share, busiest, worst_gap;
	uint32_t good, backends;
	int64_t revision;
	const struct view_routes *routes;
	const struct isa_choice *isa;
};

struct lcore_row {
	uint16_t lcore;
	struct rates busy;
	double received, worst_gap;
};

struct port_row {
	const struct view_port *port;
	enum html_state state;
	char text[LINK_TEXT_MAX];
	double rx, tx, rx_bits, tx_bits;
};

/* Next hops, and backends without one, that the page lists for each port. */
enum { NEXT_HOPS_SHOWN = 32, ORPHANS_SHOWN = 16 };

/* Not the length of the gap, but the bound of its bucket. */
static void html_gap(FILE *to, double seconds)
{
	fputs(isinf(seconds) ? "&gt; 1 s" : isnan(seconds) ? "" : "&lt; ", to);
	if (!isinf(seconds))
		html_seconds(to, seconds);
}

#include "director/page/page_html.h"

struct rates page_rates(const struct page *page, const struct series *series, uint64_t total)
{
	struct rates rates = {.now = (double)series->rates[page->history->index], .total = total};

	rates.count = series_copy(series, page->history->index, rates.rates);
	return rates;
}

static struct rates rates_of(const struct page *page, const char *counter)
{
	unsigned i = 0;

	while (i + 1 < COUNTERS_VALUES && strcmp(counters_facts[i].key, counter) != 0)
		i++;
	return page_rates(page, &page->history->counters[i], facts_number(&counters_facts[i], &page->view->sum));
}

static enum html_state health_html(enum health_state state)
{
	switch (state) {
	case HEALTH_OK:
		return HTML_OK;
	case HEALTH_DEGRADED:
		return HTML_WARN;
	case HEALTH_FAILING:
		return HTML_BAD;
	default:
		return HTML_IDLE;
	}
}

/* reload->lock is held. */
static void describe_tables(const struct live_table *live, struct figures *figures)
{
	const struct table_set *set = &live->routes->set;

	for (uint32_t t = 0; t < set->count; t++) {
		figures->backends += set->tables[t].backend_count;
		figures->good += table_good_backends(&set->tables[t]);
	}
}

static void describe_lcores(const struct page *page, struct figures *figures)
{
	figures->busiest = figures->worst_gap = NAN;
	for (uint16_t i = 0; i < page->view->lcore_count; i++) {
		const struct history_lcore *lcore = &page->history->lcores[i];

		figures->busiest = fmax(figures->busiest, (double)lcore->busy.rates[page->history->index] / 1e6);
		figures->worst_gap = fmax(figures->worst_gap, history_worst_gap(lcore));
	}
}

static bool write_head(struct page *page, FILE *to)
{
	struct figures figures = {
		.received = rates_of(page, "received"),
		.forwarded = rates_of(page, "forwarded"),
		.bytes = rates_of(page, "tx_bytes"),
		.drops = page_rates(page, &page->history->drops, 0),
		.revision = page->revision,
		.routes = &page->view->routes,
		.isa = page->view->isa,
	};
	const struct health *health = &page->view->health;

	describe_tables(page->live, &figures);
	describe_lcores(page, &figures);
	figures.drop_share = figures.received.now > 0 ? figures.drops.now / figures.received.now : NAN;
	html_begin(to, "glb-director", health_html(health->state), health_state_name(health->state), health->since);
	begin_reasons(to, health);
	for (unsigned i = 0; i < health->report.count; i++)
		print_reason(to, &health->report.reasons[i]);
	end_reasons(to, health->report.omitted);
	print_capture(to, &page->view->capture);
	print_figures(to, &figures);
	return false;
}

/* Whether a packet should never get this verdict, whatever others send. */
static bool is_hot(const char *name)
{
	static const char *const hot[] = {"drop_no_next_hop", "drop_no_buffer", "drop_tx_full", "drop_exception_full",
		"drop_too_big", "underlay_too_big"};

	for (size_t i = 0; i < sizeof(hot) / sizeof(hot[0]); i++)
		if (strcmp(name, hot[i]) == 0)
			return true;
	return false;
}

/* Appends to a list of names. */
static void append(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

static bool write_drops(struct page *page, FILE *to)
{
	/* In the list, `received` and `forwarded` come before the other verdicts. */
	const unsigned first = 2, last = 1 + VERDICT_COUNT;
	char never[768] = "";

	begin_drops(to);
	for (unsigned i = first; i < last; i++) {
		const struct fact *fact = &counters_facts[i];
		struct rates rates = page_rates(page, &page->history->counters[i], facts_number(fact, &page->view->sum));

		if (rates.total)
			print_drop(to, fact, &rates, is_hot(fact->key));
		else
			append(never, sizeof(never), fact->key);
	}
	end_drops(to, never[0] ? never : "-");
	begin_counters(to);
	for (unsigned i = 0; i < COUNTERS_VALUES; i++)
		if (i < first || i >= last)
			print_counter(to, &counters_facts[i], facts_number(&counters_facts[i], &page->view->sum),
				(double)page->history->counters[i].rates[page->history->index]);
	end_counters(to);
	return false;
}

static bool write_lcores(struct page *page, FILE *to)
{
	if (page->item == 0)
		begin_lcores(to);
	if (page->item < page->view->lcore_count) {
		const struct history_lcore *lcore = &page->history->lcores[page->item];
		struct lcore_row row = {
			.lcore = page->view->lcores[page->item].lcore,
			.busy = page_rates(page, &lcore->busy, 0),
			.received = (double)lcore->received.rates[page->history->index],
			.worst_gap = history_worst_gap(lcore),
		};

		print_lcore(to, &row);
		page->item++;
		return true;
	}
	end_lcores(to);
	return false;
}

static struct port_row describe_port(const struct page *page, uint16_t index)
{
	const struct history_port *history = &page->history->ports[index];
	unsigned at = page->history->index;
	struct port_row row = {
		.port = &page->view->ports[index],
		.rx = (double)history->rx.rates[at],
		.tx = (double)history->tx.rates[at],
		.rx_bits = 8 * (double)history->rx_bytes.rates[at],
		.tx_bits = 8 * (double)history->tx_bytes.rates[at],
	};

	row.state = row.port->link.up ? HTML_OK : HTML_BAD;
	if (row.port->running)
		link_text(&row.port->link, row.text);
	else
		snprintf(row.text, sizeof(row.text), "%s", row.port->state);
	return row;
}

static bool write_ports(struct page *page, FILE *to)
{
	if (page->item == 0)
		begin_ports(to);
	if (page->item < page->view->port_count) {
		struct port_row row = describe_port(page, (uint16_t)page->item++);

		if (row.port->used)
			print_port(to, &row);
		return true;
	}
	end_ports(to);
	return false;
}

static bool write_next_hops(struct page *page, FILE *to)
{
	struct nexthop_item items[NEXT_HOPS_SHOWN + 1];
	struct nexthop_orphan orphans[ORPHANS_SHOWN + 1];
	bool more = false;

	begin_next_hops(to);
	for (uint32_t set = 0; set < page->view->set_count; set++) {
		const char *device = page->view->sets[set].device;
		uint32_t count = view_next_hops(page->director, set, 0, items, NEXT_HOPS_SHOWN + 1);
		uint32_t orphan_count = view_orphans(page->director, set, 0, orphans, ORPHANS_SHOWN + 1);

		for (uint32_t i = 0; i < count && i < NEXT_HOPS_SHOWN; i++)
			print_next_hop(to, device, &items[i]);
		for (uint32_t i = 0; i < orphan_count && i < ORPHANS_SHOWN; i++)
			print_orphan(to, device, &orphans[i]);
		more |= count > NEXT_HOPS_SHOWN || orphan_count > ORPHANS_SHOWN;
	}
	end_next_hops(to, more);
	return false;
}

static bool write_reloads(struct page *page, FILE *to)
{
	const struct reload *reload = page->view->reload;
	char digest[TEXT_HEX64];

	begin_reloads(to, reload->reloads, reload->failures, reload->path);
	for (unsigned i = 0; i < reload->record_count && i < RELOAD_RECORDS; i++) {
		const struct reload_record *record = &reload->records[(reload->record_count - 1 - i) % RELOAD_RECORDS];

		print_reload(to, record, text_hex64(record->digest, digest));
	}
	end_reloads(to);
	html_end(to, "glb-director");
	return false;
}

/*
 * Reads what glb-fleet on this host says about the table with this digest. What it says about another one is not about
 * the table in use: glb-fleet may have ended, or has not looked yet. Returns as page->revision.
 */
static int64_t read_revision(const char *path, const char *digest)
{
	struct faults faults = {.file = path};
	json_t *status = NULL, *table;
	int64_t revision = -1;
	char *text;
	size_t size;
	int error = file_read(path, "a status", FLEET_STATUS_MAX, &text, &size, &faults);

	if (error == 0)
		status = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	table = json_object_get(json_object_get(status, "director"), "table");
	if (error != -ENOENT)
		revision = 0;
	if (strcmp(member_text(table, "digest"), digest) == 0 && member_number(table, "revision") > 0)
		revision = member_number(table, "revision");
	json_decref(status);
	free(text);
	faults_clear(&faults);
	return revision;
}

bool page_begin(struct page *page, struct director *director, const struct history *history, int only)
{
	struct view *view = view_take(director, false);

	if (!view)
		return false;
	if (only >= 0 && (uint32_t)only >= view->routes.tables) {
		view_free(view);
		return false;
	}
	page->director = director;
	page->history = history;
	page->view = view;
	page->only = only;
	page->revision = read_revision(director->conf.fleet_status, view->routes.digest);
	return true;
}

/* The parts of the page, in order. They return false when they are complete. */
static const struct part {
	bool (*write)(struct page *, FILE *);
	/* reload.lock is held, and page->live is the table of the page's begin. */
	bool locked;
} parts[] = {
	{write_head, true},
	{page_write_tables, true},
	{write_drops, false},
	{write_lcores, false},
	{write_ports, false},
	{write_next_hops, false},
	{write_reloads, true},
};

/* Returns as a part does. */
static bool write_locked(struct page *page, const struct part *part, FILE *to)
{
	bool more = false;

	page->live = reload_lock(page->view->reload);
	if (page->live->generation == page->view->routes.generation) {
		more = part->write(page, to);
	} else {
		html_changed(to);
		page->part = RTE_DIM(parts);
	}
	reload_unlock(page->view->reload);
	return more;
}

bool page_write(struct page *page, FILE *to)
{
	const struct part *part = &parts[page->part];

	if (part->locked ? !write_locked(page, part, to) : !part->write(page, to)) {
		page->part++;
		page->table = page->item = page->step = 0;
	}
	return page->part < RTE_DIM(parts);
}
