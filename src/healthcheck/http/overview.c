/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/http/overview.h"

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
	/* Checks, and backends, that one call looks at. */
	ODD_AT_ONCE = 256,
	BACKENDS_AT_ONCE = 8,
	/* A certificate that expires in less time needs a look. */
	EXPIRES_SOON_S = 14 * 86400,
};

struct sums {
	uint32_t healthy, backends;
	double stalled_s;
	enum html_state state;
	char text[64];
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

static const char *director_text(enum reload_hook_director director)
{
	switch (director) {
	case RELOAD_HOOK_DIRECTOR_UNKNOWN:
		return "the director does not tell which table it uses";
	case RELOAD_HOOK_DIRECTOR_CURRENT:
		return "the director uses the table that was built";
	case RELOAD_HOOK_DIRECTOR_STALE:
		return "the director uses another table than the one that was built";
	default:
		return "";
	}
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

static void describe_check(const struct check *check, struct check_text *text)
{
	*text = (struct check_text){
		.state = verdict_state(check->damper.verdict),
		.result = check->probes ? check_result_name(check->result) : "none yet",
		.held_ms = damper_held_ms(&check->damper, clock_now_ms()),
		.expires_soon = check->tls_expires_s && check->tls_expires_s < time(NULL) + EXPIRES_SOON_S,
	};
	describe_history(check, text);
}

static bool is_odd(const struct check *check)
{
	return check->probes && (check->damper.verdict != DAMPER_HEALTHY || check->result != CHECK_PASSED ||
					(check->tls_expires_s && check->tls_expires_s < time(NULL) + EXPIRES_SOON_S));
}

static uint32_t count_backends(const struct table_set *set)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < set->count; t++)
		count += set->tables[t].backend_count;
	return count;
}

/* How many backends of a table the page shows. */
static uint32_t limit(const struct overview *overview)
{
	const struct table_set *set = &overview->monitor->list.document.set;

	if (overview->only >= 0 || count_backends(set) <= BACKENDS_MAX)
		return UINT32_MAX;
	return BACKENDS_MAX / set->count > BACKENDS_MIN ? BACKENDS_MAX / set->count : BACKENDS_MIN;
}

static bool write_figures(struct overview *overview, FILE *to)
{
	const struct monitor *monitor = overview->monitor;
	const struct publisher *publisher = &monitor->publisher;
	struct sums sums = {.state = HTML_OK, .text = "ok"};

	for (uint32_t t = 0; t < monitor->list.document.set.count; t++) {
		sums.healthy += publisher->verdicts[t].healthy;
		sums.backends += publisher->verdicts[t].backends;
	}
	sums.stalled_s = (double)pulse_meter_stalled(&monitor->env.pulse.meter, clock_now_us()) / 1e6;
	if (!monitor->ready)
		sums = (struct sums){
			.healthy = sums.healthy, .backends = sums.backends, .state = HTML_IDLE, .text = "starting"};
	if (sums.healthy < sums.backends) {
		sums.state = HTML_WARN;
		snprintf(sums.text, sizeof(sums.text), "%" PRIu32 " backend%s unhealthy", sums.backends - sums.healthy,
			text_plural(sums.backends - sums.healthy));
	}
	if (monitor->error[0] || publisher->failures || publisher->reload_hook.failures ||
		publisher->reload_hook.director == RELOAD_HOOK_DIRECTOR_STALE) {
		sums.state = HTML_BAD;
		snprintf(sums.text, sizeof(sums.text), "the director does not get new tables");
	}
	html_begin(to, "glb-healthcheck", sums.state, sums.text, 0);
	print_figures(to, monitor, &sums);
	return false;
}

static bool has_fault(const struct monitor *monitor)
{
	const struct publisher *publisher = &monitor->publisher;
	bool found = monitor->error[0] || publisher->failures || publisher->reload_hook.failures ||
		     publisher->reload_hook.director == RELOAD_HOOK_DIRECTOR_STALE;

	for (uint32_t t = 0; t < monitor->list.document.set.count; t++)
		found |= publisher->verdicts[t].panic;
	for (const struct http_trust *trust = check_http_trust_list(monitor->env.http); trust; trust = trust->next)
		found |= trust->error[0] != '\0';
	return found;
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

static bool write_faults(struct overview *overview, FILE *to)
{
	const struct monitor *monitor = overview->monitor;
	const struct publisher *publisher = &monitor->publisher;

	begin_faults(to, has_fault(monitor));
	if (monitor->error[0])
		print_fault(to, "src is refused", monitor->error);
	if (publisher->failures)
		print_fault(to, "dst cannot be written", publisher->error);
	if (publisher->reload_hook.failures)
		print_fault(to, "the reload failed", publisher->reload_hook.error);
	if (publisher->reload_hook.director == RELOAD_HOOK_DIRECTOR_STALE)
		print_fault(to, "old table", director_text(RELOAD_HOOK_DIRECTOR_STALE));
	for (const struct http_trust *trust = check_http_trust_list(monitor->env.http); trust; trust = trust->next)
		if (trust->error[0])
			print_fault(to, trust->file ? trust->file : trust->folder, trust->error);
	print_panics(to, monitor);
	end_faults(to);
	return false;
}

static bool write_odd(struct overview *overview, FILE *to)
{
	const struct checklist *list = &overview->monitor->list;
	struct check_text text;

	if (overview->only >= 0)
		return false;
	if (overview->item == 0)
		begin_odd(to);
	for (unsigned i = 0; i < ODD_AT_ONCE && overview->item < list->check_count; i++) {
		const struct check *check = list->checks[overview->item++];

		if (!is_odd(check) || overview->odd++ >= ODD_MAX)
			continue;
		overview->odd_shown++;
		describe_check(check, &text);
		print_odd(to, check, &text);
	}
	if (overview->item < list->check_count)
		return true;
	end_odd(to, overview->odd_shown, overview->odd);
	return false;
}

static void describe_table(const struct overview *overview, uint32_t index, char label[16], struct table_row *row)
{
	const struct table_set *set = &overview->monitor->list.document.set;
	const struct verdicts *verdicts = &overview->monitor->publisher.verdicts[index];

	*row = (struct table_row){.index = index,
		.name = table_label(set, index, label),
		.verdicts = verdicts,
		.open = count_backends(set) <= OPEN_MAX || overview->only >= 0,
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

static bool write_tables(struct overview *overview, FILE *to)
{
	const struct checklist *list = &overview->monitor->list;
	const struct table_set *set = &list->document.set;
	uint32_t end = overview->only >= 0 ? (uint32_t)overview->only + 1 : set->count, shown;
	struct table_row row;
	char label[16];

	if (overview->table == 0 && overview->item == 0) {
		begin_tables(to, set->count);
		overview->table = overview->only >= 0 ? (uint32_t)overview->only : 0;
	}
	if (overview->table == end) {
		end_tables(to);
		return false;
	}
	describe_table(overview, overview->table, label, &row);
	if (overview->item == 0)
		begin_table(to, &row);
	shown = limit(overview) < set->tables[overview->table].backend_count
			? limit(overview)
			: set->tables[overview->table].backend_count;
	for (unsigned i = 0; i < BACKENDS_AT_ONCE && overview->item < shown; i++)
		print_backend(to, list, overview->table, overview->item++);
	if (overview->item < shown)
		return true;
	end_table(to, &row, shown, set->tables[overview->table].backend_count);
	overview->table++;
	overview->item = 0;
	return true;
}

static bool write_end(struct overview *overview, FILE *to)
{
	const struct monitor *monitor = overview->monitor;

	print_daemon(to, monitor);
	begin_probes(to);
	for (enum check_kind kind = 0; kind < CHECK_KIND_COUNT; kind++)
		if (has_probes(&monitor->counters, kind))
			print_probes(to, &monitor->counters, kind);
	end_probes(to);
	html_end(to, "glb-healthcheck");
	return false;
}

bool overview_begin(struct overview *overview, const struct monitor *monitor, int only)
{
	if (only >= 0 && (uint32_t)only >= monitor->list.document.set.count)
		return false;
	*overview = (struct overview){.monitor = monitor, .loads = monitor->counters.loads, .only = only};
	return true;
}

bool overview_write(struct overview *overview, FILE *to)
{
	/* They return false when the part is complete. */
	static bool (*const parts[])(struct overview *, FILE *) = {
		write_figures, write_faults, write_odd, write_tables, write_end};
	const unsigned count = sizeof(parts) / sizeof(parts[0]);

	if (overview->part > 0 && overview->loads != overview->monitor->counters.loads) {
		html_changed(to);
		overview->part = count;
		return false;
	}
	if (!parts[overview->part](overview, to)) {
		overview->part++;
		overview->table = overview->item = 0;
	}
	return overview->part < count;
}
