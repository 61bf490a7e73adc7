/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/page.h"
#include "healthcheck/monitor/expiry.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/text.h"
#include "healthcheck/checks/check_http.h"
#include "program/html/html.h"

enum {
	/* Backends that the page about all tables shows, and the fewest of each table. */
	BACKENDS_MAX = 512,
	BACKENDS_MIN = 8,
	/* The tables are unfolded if they have no more backends than this. */
	OPEN_MAX = 64,
	/* Checks that need a look that are shown. */
	ODD_MAX = 100,
	/* Checks that one call looks at. */
	ODD_AT_ONCE = 256,
};

/* Text about a check. */
struct check_text {
	enum html_state state;
	const char *result;
	/* For html_strip(). */
	char history[CHECK_HISTORY + 1];
	char summary[256];
	uint64_t held_ms;
	bool expires_soon;
};

struct table_row {
	uint32_t index;
	const char *name;
	const struct verdicts *verdicts;
	enum html_state state;
	char text[64], matching[TABLE_MATCHING_TEXT_MAX];
	bool open;
};

struct backend_row {
	char ip[NETADDR_TEXT_MAX];
	enum html_state state;
	char text[48];
};

static enum html_state hook_state(const struct reload_hook *hook)
{
	if (hook->failures)
		return HTML_BAD;
	return hook->state == RELOAD_HOOK_DONE ? HTML_OK : HTML_IDLE;
}

static double mean_latency(const struct monitor_counters *counters, enum check_kind kind)
{
	uint64_t passed = counters->probes[kind][CHECK_PASSED];

	return passed ? (double)counters->latency_us[kind] / 1e6 / (double)passed : NAN;
}

static bool has_probes(const struct monitor_counters *counters, enum check_kind kind)
{
	uint64_t sum = 0;

	for (enum check_result result = 0; result < CHECK_RESULT_COUNT; result++)
		sum += counters->probes[kind][result];
	return sum > 0;
}

static void print_check(FILE *to, const struct check *check, const struct check_text *text);

#include "healthcheck/overview_html.h"

static enum html_state verdict_state(enum damper_verdict verdict)
{
	return verdict == DAMPER_HEALTHY ? HTML_OK : verdict == DAMPER_UNHEALTHY ? HTML_BAD : HTML_IDLE;
}

/* Fills history and summary: "last 32 results: 30 passed, 2 timeout; newest: passed". */
static void describe_history(const struct check *check, struct check_text *text)
{
	unsigned counts[CHECK_RESULT_COUNT] = {0},
		 known = check->probes < CHECK_HISTORY ? (unsigned)check->probes : CHECK_HISTORY;
	size_t size;

	memset(text->history, ' ', CHECK_HISTORY);
	for (unsigned i = 0; i < known; i++) {
		enum check_result result = check->history[(check->probes - known + i) % CHECK_HISTORY];

		counts[result]++;
		text->history[CHECK_HISTORY - known + i] = result == CHECK_PASSED    ? 'p'
							   : result == CHECK_NOT_RUN ? 'x'
										     : 'f';
	}
	size = (size_t)snprintf(text->summary, sizeof(text->summary), "last %u result%s:", known, text_plural(known));
	for (enum check_result result = 0; result < CHECK_RESULT_COUNT; result++)
		if (counts[result])
			size += (size_t)snprintf(text->summary + size, sizeof(text->summary) - size, " %u %s,",
				counts[result], check_result_name(result));
	text->summary[size - 1] = '\0';
}

static bool expires_soon(const struct check *check)
{
	return check->tls_expires_s && check->tls_expires_s < time(NULL) + EXPIRY_WARNING_S;
}

static void describe_check(const struct check *check, struct check_text *text)
{
	*text = (struct check_text){
		.state = verdict_state(check->damper.verdict),
		.result = check->probes ? check_result_name(check->result) : "none yet",
		.held_ms = damper_held_ms(&check->damper, clock_now_ms()),
		.expires_soon = expires_soon(check),
	};
	describe_history(check, text);
}

static bool is_odd(const struct check *check)
{
	return check->probes &&
	       (check->damper.verdict != DAMPER_HEALTHY || check->result != CHECK_PASSED || expires_soon(check));
}

/* How many backends of a table the page shows. */
static uint32_t limit(const struct page *page)
{
	const struct table_set *set = &page->monitor->list.document.set;

	if (page->only >= 0 || table_set_totals(set).backends <= BACKENDS_MAX)
		return UINT32_MAX;
	return BACKENDS_MAX / set->count > BACKENDS_MIN ? BACKENDS_MAX / set->count : BACKENDS_MIN;
}

static bool is_stuck(const struct monitor_sums *sums)
{
	return sums->src_bad || sums->write_failing || sums->reload_failing || sums->director_stale;
}

static bool write_figures(struct page *page)
{
	const struct monitor *monitor = page->monitor;
	uint32_t unhealthy = monitor->sums.backends - monitor->sums.healthy;
	enum html_state state = monitor->ready ? HTML_OK : HTML_IDLE;
	char text[64] = "starting";

	if (monitor->ready)
		strcpy(text, "ok");
	if (unhealthy) {
		state = HTML_WARN;
		snprintf(text, sizeof(text), "%" PRIu32 " backend%s unhealthy", unhealthy, text_plural(unhealthy));
	}
	if (is_stuck(&monitor->sums)) {
		state = HTML_BAD;
		strcpy(text, "the director does not get new tables");
	}
	html_begin(page->to.to, "glb-healthcheck", state, text, 0);
	print_figures(page->to.to, monitor, &monitor->sums);
	return false;
}

static void print_panics(FILE *to, const struct monitor *monitor)
{
	const struct table_set *set = &monitor->list.document.set;
	char label[16], text[192];

	for (uint32_t t = 0; t < set->count; t++) {
		const struct verdicts *verdicts = &monitor->publisher.verdicts[t];

		if (!verdicts->panic)
			continue;
		snprintf(text, sizeof(text),
			"panic: only %" PRIu32 " of %" PRIu32 " backends are healthy, so all count as healthy, and %" PRIu32
			" unhealthy ones get new connections",
			verdicts->healthy, verdicts->backends, verdicts->kept);
		print_fault(to, table_label(set, t, label), text);
	}
}

static bool write_faults(struct page *page)
{
	const struct monitor *monitor = page->monitor;
	const struct publisher *publisher = &monitor->publisher;
	FILE *to = page->to.to;

	begin_faults(to, is_stuck(&monitor->sums) || monitor->sums.trust_bad || monitor->sums.panics);
	if (monitor->error[0])
		print_fault(to, "src is refused", monitor->error);
	if (publisher->failures)
		print_fault(to, "dst cannot be written", publisher->error);
	if (publisher->reload_hook.failures)
		print_fault(to, "the reload failed", publisher->reload_hook.error);
	if (publisher->reload_hook.director == RELOAD_HOOK_DIRECTOR_STALE)
		print_fault(to, "old table", reload_hook_director_text("stale"));
	for (const struct http_trust *trust = check_http_trust_list(monitor->env.http); trust; trust = trust->next)
		if (trust->error[0])
			print_fault(to, trust->file ? trust->file : trust->folder, trust->error);
	print_panics(to, monitor);
	end_faults(to);
	return false;
}

static bool write_odd(struct page *page)
{
	const struct checklist *list = &page->monitor->list;
	FILE *to = page->to.to;
	struct check_text text;

	if (page->only >= 0)
		return false;
	if (page->item == 0)
		begin_odd(to);
	for (unsigned i = 0; i < ODD_AT_ONCE && page->item < list->check_count; i++) {
		const struct check *check = list->checks[page->item++];

		if (!is_odd(check) || page->odd++ >= ODD_MAX)
			continue;
		page->odd_shown++;
		describe_check(check, &text);
		print_odd(to, check, &text);
	}
	if (page->item < list->check_count)
		return true;
	end_odd(to, page->odd_shown, page->odd);
	return false;
}

static void describe_table(const struct page *page, uint32_t index, char label[16], struct table_row *row)
{
	const struct table_set *set = &page->monitor->list.document.set;
	const struct verdicts *verdicts = &page->monitor->publisher.verdicts[index];

	*row = (struct table_row){.index = index,
		.name = table_label(set, index, label),
		.verdicts = verdicts,
		.open = table_set_totals(set).backends <= OPEN_MAX || page->only >= 0,
		.text = "ok"};
	table_matching_text(&set->tables[index], row->matching);
	if (verdicts->panic) {
		row->state = HTML_BAD;
		snprintf(row->text, sizeof(row->text), "panic");
	} else if (verdicts->healthy < verdicts->backends) {
		row->state = HTML_WARN;
		snprintf(row->text, sizeof(row->text), "%" PRIu32 " unhealthy", verdicts->backends - verdicts->healthy);
	}
}

static void print_backend(FILE *to, const struct checklist *list, uint32_t table, uint32_t backend)
{
	const struct table_backend *entry = &list->document.set.tables[table].backends[backend];
	struct backend_row row = {.state = table_backend_is_good(entry) ? HTML_OK
					   : entry->healthy             ? HTML_IDLE
									: HTML_BAD};
	struct check_text text;

	netaddr_format(&entry->addr, row.ip);
	snprintf(row.text, sizeof(row.text), "%s, %s, weight %u", table_state_name(entry->state),
		entry->healthy ? "healthy" : "unhealthy", table_backend_weight(entry));
	for (size_t i = list->first[table][backend]; i < list->first[table][backend + 1]; i++) {
		const struct check *check = list->checks[list->uses[i].check];

		begin_backend(to, &row);
		describe_check(check, &text);
		print_backend_check(to, check, &text);
	}
	if (checklist_has_checks(list, table, backend))
		return;
	begin_backend(to, &row);
	print_unchecked(to, &row);
}

static bool write_tables(struct page *page)
{
	const struct checklist *list = &page->monitor->list;
	const struct table_set *set = &list->document.set;
	uint32_t end = page->only >= 0 ? (uint32_t)page->only + 1 : set->count, shown;
	FILE *to = page->to.to;
	struct table_row row;
	char label[16];

	if (page->table == 0 && page->item == 0) {
		begin_tables(to, set->count);
		page->table = page->only >= 0 ? (uint32_t)page->only : 0;
	}
	if (page->table == end) {
		end_tables(to);
		return false;
	}
	describe_table(page, page->table, label, &row);
	if (page->item == 0)
		begin_table(to, &row);
	shown = limit(page) < set->tables[page->table].backend_count ? limit(page)
								     : set->tables[page->table].backend_count;
	for (unsigned i = 0; i < PAGE_AT_ONCE && page->item < shown; i++)
		print_backend(to, list, page->table, page->item++);
	if (page->item < shown)
		return true;
	end_table(to, &row, shown, set->tables[page->table].backend_count);
	page->table++;
	page->item = 0;
	return true;
}

static bool write_end(struct page *page)
{
	const struct monitor *monitor = page->monitor;
	FILE *to = page->to.to;

	print_daemon(to, monitor);
	begin_probes(to);
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		if (has_probes(&monitor->counters, kind))
			print_probes(to, &monitor->counters, kind);
	end_probes(to);
	html_end(to, "glb-healthcheck");
	return false;
}

page_part *const page_overview[] = {write_figures, write_faults, write_odd, write_tables, write_end, NULL};
