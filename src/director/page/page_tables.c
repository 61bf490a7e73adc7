/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables on the page, with their binds and backends. */
#include <inttypes.h>
#include <string.h>

#include "director/page/page.h"
#include "director/view/view.h"
#include "program/html/html.h"

enum {
	/* Backends that the page about all tables shows, and the fewest of each table. */
	BACKENDS_MAX = 512,
	BACKENDS_MIN = 8,
	/* With more tables, the page about all tables has only the table of tables. */
	FOLDS_MAX = BACKENDS_MAX / BACKENDS_MIN,
	/* Binds of each table on the page about all tables. */
	BINDS_SHOWN = 8,
	/* The tables are unfolded if they have no more backends than this. */
	OPEN_MAX = 64,
	/* Backends or binds of one piece. */
	AT_ONCE = 16,
};

struct table_row {
	const struct table *table;
	uint32_t index;
	uint16_t slot;
	const char *name;
	enum html_state state;
	char text[32], matching[TABLE_MATCHING_TEXT_MAX];
	struct view_table view;
	struct rates packets;
	double bits;
};

struct backend_row {
	struct view_backend backend;
	enum html_state state;
	char text[32];
	/* "-" if the file of the table does not have it. */
	char weight[8];
	/* Shares of the rows, and of the packets. */
	double expected, seen;
	double packets, bits;
};

#include "director/page/tables_html.h"

/* Writes the name of the table to `label` if it has none. */
static void describe_table(const struct page *page, uint32_t index, char label[16], struct table_row *row)
{
	const struct live_table *live = page->live;
	const struct table_set *set = &live->routes->set;
	uint16_t slot = live->slot[index];
	const struct history_table *history = &page->history->tables[slot];
	bool known = strcmp(history->name, page->view->reload->slots[slot].name) == 0;

	*row = (struct table_row){.table = &set->tables[index],
		.index = index,
		.slot = slot,
		.name = table_label(set, index, label),
		.state = HTML_OK,
		.text = "ok",
		.view = view_table(live, index),
		.packets = {.now = NAN},
		.bits = NAN};
	if (known) {
		row->packets = page_rates(page, &history->packets, row->view.forwarded.packets);
		row->bits = 8 * (double)history->bytes.rates[page->history->index];
	}
	table_matching_text(row->table, row->matching);
	if (!row->view.good) {
		row->state = HTML_BAD;
		snprintf(row->text, sizeof(row->text), "no good backend");
	} else if (row->view.good < row->view.backends) {
		row->state = HTML_WARN;
		snprintf(row->text, sizeof(row->text), "%" PRIu32 " not good", row->view.backends - row->view.good);
	}
}

static enum html_state backend_state(const struct table_backend *backend)
{
	if (backend->state == TABLE_INACTIVE)
		return HTML_IDLE;
	if (!backend->healthy)
		return HTML_BAD;
	return backend->state == TABLE_DRAINING ? HTML_IDLE : HTML_OK;
}

static void write_backend(struct page *page, uint32_t item, double table_packets, FILE *to)
{
	const struct live_table *live = page->live;
	const struct table_backend *backend = &live->routes->set.tables[page->table].backends[item];
	struct history_rate rate = history_backend(page->history, live, routes_backend(live->routes, page->table, item));
	struct backend_row row = {
		.backend = view_backend(live, page->table, item),
		.state = backend_state(backend),
		.weight = "-",
		.expected = (double)page->first_hops[item] / TABLE_ROWS,
		.packets = rate.packets,
		.bits = 8 * rate.bytes,
	};

	row.seen = table_packets > 0 ? row.packets / table_packets : NAN;
	snprintf(row.text, sizeof(row.text), "%s, %s", row.backend.state, row.backend.healthy ? "healthy" : "unhealthy");
	if (backend->weight)
		snprintf(row.weight, sizeof(row.weight), "%u", backend->weight);
	print_backend(to, &row);
}

/* How many backends of the current table the page shows. */
static uint32_t count_shown(const struct page *page, const struct table_set *set)
{
	uint32_t all = set->tables[page->table].backend_count, limit = BACKENDS_MAX / set->count;

	return page->only >= 0 || table_set_totals(set).backends <= BACKENDS_MAX || all < limit ? all : limit;
}

static void count_first_hops(struct page *page, const struct table *table)
{
	memset(page->first_hops, 0, sizeof(page->first_hops));
	for (uint32_t row = 0; row < TABLE_ROWS; row++)
		page->first_hops[table->rows[(size_t)row * table->row_hops]]++;
}

static bool is_open(const struct page *page, const struct table_set *set)
{
	return page->only >= 0 || table_set_totals(set).backends <= OPEN_MAX;
}

/* The steps of the current table. Each returns whether it is complete. */
static bool write_binds(struct page *page, FILE *to)
{
	const struct table *table = &page->live->routes->set.tables[page->table];
	uint32_t shown = page->only < 0 && table->bind_count > BINDS_SHOWN ? BINDS_SHOWN : table->bind_count;
	char label[16], text[TABLE_BIND_TEXT_MAX];
	struct table_row row;

	if (page->item == 0) {
		describe_table(page, page->table, label, &row);
		begin_table(to, &row, is_open(page, &page->live->routes->set));
		begin_binds(to);
	}
	for (unsigned i = 0; i < AT_ONCE && page->item < shown; i++, page->item++) {
		struct view_bind bind = view_bind(page->live, page->table, page->item);

		print_bind(to, table_bind_text(&table->binds[page->item], text), &bind);
	}
	if (page->item < shown)
		return false;
	end_binds(to, table->bind_count - shown);
	return true;
}

/* Returns how many packets a second all backends of the current table had. */
static double sum_packets(const struct page *page)
{
	const struct live_table *live = page->live;
	double sum = 0;

	for (uint32_t i = 0; i < live->routes->set.tables[page->table].backend_count; i++)
		sum += history_backend(page->history, live, routes_backend(live->routes, page->table, i)).packets;
	return sum;
}

static bool write_backends(struct page *page, FILE *to)
{
	const struct table_set *set = &page->live->routes->set;
	uint32_t shown = count_shown(page, set);
	double packets = sum_packets(page);
	char label[16];
	struct table_row row;

	describe_table(page, page->table, label, &row);
	if (page->item == 0) {
		count_first_hops(page, row.table);
		begin_backends(to, row.name);
	}
	for (unsigned i = 0; i < AT_ONCE && page->item < shown; i++)
		write_backend(page, page->item++, packets, to);
	if (page->item < shown)
		return false;
	end_table(to, &row, shown);
	return true;
}

/* Rows of the table of tables. */
static bool write_summary(struct page *page, FILE *to)
{
	struct table_row row;
	char label[16];

	if (page->item == 0) {
		begin_tables(to, page->live->routes->set.count);
		begin_summary(to);
	}
	for (unsigned i = 0; i < AT_ONCE && page->item < page->live->routes->set.count; i++) {
		describe_table(page, page->item++, label, &row);
		print_summary(to, &row);
	}
	if (page->item < page->live->routes->set.count)
		return false;
	end_summary(to);
	return true;
}

enum { SUMMARY, BINDS, BACKENDS };

bool page_write_tables(struct page *page, FILE *to)
{
	static bool (*const steps[])(struct page *, FILE *) = {
		[SUMMARY] = write_summary, [BINDS] = write_binds, [BACKENDS] = write_backends};
	uint32_t all = page->live->routes->set.count, end = all <= FOLDS_MAX ? all : 0;

	if (page->only >= 0)
		end = (uint32_t)page->only + 1;
	/* The first step comes before the first table. */
	if ((page->table < end || page->step == SUMMARY) && !steps[page->step](page, to))
		return true;
	page->item = 0;
	if (page->step == SUMMARY && page->only >= 0)
		page->table = (uint32_t)page->only;
	else if (page->step == BACKENDS)
		page->table++;
	page->step = page->step == BINDS ? BACKENDS : BINDS;
	if (page->table < end)
		return true;
	end_tables(to, page->only < 0 && all > FOLDS_MAX);
	return false;
}
