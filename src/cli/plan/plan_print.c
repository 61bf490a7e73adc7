/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/diff/diff_print.h"
#include "cli/plan/plan.h"
#include "common/text.h"

#define MAX_PROXIES 10 /* in a line for people */

static const char *const kinds[PLAN_KINDS] = {
	[PLAN_WANTED] = "wanted",
	[PLAN_ANNOUNCE] = "announce",
	[PLAN_SWITCH] = "switch",
	[PLAN_ANNOUNCE_DRAIN] = "announce",
	[PLAN_DRAIN] = "drain",
	[PLAN_ANNOUNCE_DRAINED] = "announce",
	[PLAN_SWITCH_DRAINED] = "switch",
	[PLAN_ANNOUNCE_UNDRAIN] = "announce",
	[PLAN_UNDRAIN] = "undrain",
	[PLAN_APPROVED] = "approved",
};

static const char *const meanings[PLAN_KINDS] = {
	[PLAN_ANNOUNCE] =
		"It changes no first hop. New proxies are draining, and each row already has its next first hop as a later one.",
	[PLAN_SWITCH] =
		"New connections go where WANTED says. Proxies that leave are draining, and each row still has its old first hop as a later one.",
	[PLAN_WANTED] = "It is WANTED itself.",
	[PLAN_ANNOUNCE_DRAIN] =
		"It changes no first hop. Each row already has as a later one the first hop that it gets when the proxies that are down are drained.",
	[PLAN_DRAIN] =
		"Proxies that are down in CURRENT or WANTED are draining. Each row still has its old first hop as a later one.",
	[PLAN_ANNOUNCE_DRAINED] =
		"New proxies, and those that are down in CURRENT or WANTED, are draining. Each row already has its next first hop as a later one.",
	[PLAN_SWITCH_DRAINED] =
		"New connections go where WANTED says, but not to proxies that are down in CURRENT or WANTED: these are draining, as are proxies that leave. Each row still has its old first hop as a later one.",
	[PLAN_ANNOUNCE_UNDRAIN] = "It changes no first hop. Each row already has its first hop of WANTED as a later one.",
	[PLAN_UNDRAIN] = "New connections go where WANTED says. Each row still has its old first hop as a later one.",
};

const char *plan_kind_name(enum plan_kind kind)
{
	return kinds[kind];
}

static const char *step_name(const char *dir, uint32_t step, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%s%s%u.json", dir ? dir : "", dir ? "/" : "", (unsigned)step + 1);
	return buf;
}

static void add_reason(json_t *reasons, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_reason(json_t *reasons, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0) {
		json_array_append_new(reasons, json_string(text));
		free(text);
	}
	va_end(args);
}

static void add_missing(json_t *reasons, const struct table_diff *pair, const char *label)
{
	char addr[NETADDR_TEXT_MAX];

	for (uint32_t i = 0; i < pair->backend_count; i++)
		if (plan_leaves(&pair->backends[i]) && !pair->backends[i].before->healthy)
			add_reason(reasons,
				"table %s: proxy %s leaves and is down in CURRENT: if the host does not exist any more, its connections are lost; do not wait for it",
				label, netaddr_format(&pair->backends[i].addr, addr));
}

/* Returns what no plan can make safe, as an array of sentences. */
static json_t *describe_unsafe(const struct plan_input *input)
{
	json_t *reasons = json_array();
	char label[16];

	for (uint32_t i = 0; i < input->at_once.count; i++) {
		const struct table_diff *pair = &input->at_once.tables[i];
		const char *name = table_diff_label(pair, label);
		char *udp = NULL;

		if (!pair->before)
			continue;
		if (pair->causes[TABLE_DIFF_UNMATCHED])
			add_reason(reasons,
				"table %s: WANTED has no bind for some packets of CURRENT: the connections of these binds end",
				name);
		if (!pair->after)
			continue;
		if (pair->udp_moved && (udp = diff_udp_text(pair)))
			add_reason(reasons, "table %s: %s", name, udp);
		free(udp);
		if (pair->key_changed)
			add_reason(reasons,
				"table %s: hash_key changes, so flows move to other rows: keep the hash_key of CURRENT",
				name);
		else if (!pair->seed_known)
			add_reason(reasons,
				"table %s: CURRENT is a binary table, and WANTED does not tell its seed: name the JSON table of CURRENT",
				name);
		else if (!plan_keeps_seed(pair))
			add_reason(reasons,
				"table %s: seed changes, so the rows get other hops: keep the seed of CURRENT", name);
		add_missing(reasons, pair, name);
	}
	return reasons;
}

/* Returns when the servers change their QUIC configuration, as an array of sentences. */
static json_t *describe_quic(const struct plan_input *input)
{
	json_t *orders = json_array();
	char label[16], addr[NETADDR_TEXT_MAX];

	for (uint32_t t = 0; t < input->at_once.count; t++) {
		const struct table_diff *pair = &input->at_once.tables[t];
		const char *name = table_diff_label(pair, label);

		for (uint8_t id = 0; id < QUIC_MAX_CONFIGS && pair->before && pair->after; id++) {
			const char *change = table_quic_change(pair->before, pair->after, id);

			if (change && !table_quic(pair->before, id))
				add_reason(orders,
					"table %s: QUIC configuration %u is new: the servers may use it when all directors use the table of step 1",
					name, id);
			else if (change && !table_quic(pair->after, id))
				add_reason(orders,
					"table %s: QUIC configuration %u goes: before step 1, let the servers use another one, and wait until the connections that have its connection IDs have ended",
					name, id);
			else if (change)
				add_reason(orders,
					"table %s: QUIC configuration %u has %s: connections that have its connection IDs go by their rows; keep it as it is, and add the new one with another id",
					name, id, change);
		}
		for (uint32_t i = 0; i < pair->backend_count; i++)
			if (diff_changes_server_ids(&pair->backends[i]))
				add_reason(orders,
					"table %s: proxy %s gets another server_id: its QUIC connections go by their rows until its servers use the new one",
					name, netaddr_format(&pair->backends[i].addr, addr));
	}
	return orders;
}

/* Returns the proxies of the pair to wait for, as an array of addresses. is_current: before the first step. */
static json_t *describe_leaving(const struct table_diff *pair, bool is_current)
{
	json_t *proxies = json_array();
	char addr[NETADDR_TEXT_MAX];

	for (uint32_t i = 0; pair->before && pair->after && i < pair->backend_count; i++)
		if (is_current ? plan_drains(&pair->backends[i]) : plan_leaves(&pair->backends[i]))
			json_array_append_new(proxies, json_string(netaddr_format(&pair->backends[i].addr, addr)));
	return proxies;
}

/* Returns the waits in a row, as an array of objects. digest: of the table that the directors must use; NULL: of
 * CURRENT. */
static json_t *describe_waits(const struct plan_input *input, const char *digest, enum rollout_wait wait)
{
	json_t *waits = json_array();
	char label[16];

	if (digest)
		json_array_append_new(waits, json_pack("{s:s, s:s}", "for", "directors", "digest", digest));
	for (uint32_t i = 0; i < input->at_once.count && wait >= ROLLOUT_DRAINED; i++) {
		const struct table_diff *pair = &input->at_once.tables[i];
		json_t *proxies = describe_leaving(pair, !digest);

		if (json_array_size(proxies))
			json_array_append_new(waits, json_pack("{s:s, s:s, s:O}", "for", "drained", "table",
							     table_diff_label(pair, label), "proxies", proxies));
		json_decref(proxies);
	}
	if (wait == ROLLOUT_OLDER)
		json_array_append_new(waits, json_pack("{s:s}", "for", "connections"));
	return waits;
}

static json_t *describe_counts(uint32_t broken, uint32_t skew, uint32_t rows)
{
	return json_pack("{s:i, s:f, s:i, s:f}", "broken_rows", (int)broken, "broken_percent",
		table_diff_percent(broken, rows), "skew_rows", (int)skew, "skew_percent", table_diff_percent(skew, rows));
}

static json_t *describe_step(const struct plan_input *input, const struct plan *plan, uint32_t index, const char *dir)
{
	const struct plan_step *step = &plan->steps[index];
	char digest[20], path[PATH_MAX];
	json_t *json;

	snprintf(digest, sizeof(digest), "%016" PRIx64, table_set_digest(&step->set));
	json = json_pack("{s:s?, s:s, s:s}", "file", dir ? step_name(dir, index, path) : NULL, "digest", digest, "kind",
		kinds[step->kind]);
	json_object_update_new(json, describe_counts(step->broken, step->skew, input->at_once.rows));
	json_object_set_new(
		json, "waits", describe_waits(input, digest, index + 1 == plan->count ? ROLLOUT_NO_WAIT : step->wait));
	return json;
}

json_t *plan_describe(const struct plan_input *input, const struct plan *plan, const char *dir)
{
	const struct table_set_diff *diff = &input->at_once;
	json_t *steps = json_array();

	for (uint32_t i = 0; i < plan->count; i++)
		json_array_append_new(steps, describe_step(input, plan, i, dir));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rows", (int)diff->rows, "at_once",
		describe_counts(diff->broken, diff->skew, diff->rows), "plan",
		describe_counts(plan->broken, plan->skew, diff->rows), "unsafe", describe_unsafe(input), "quic",
		describe_quic(input), "helps", plan_helps(input, plan), "first_waits",
		describe_waits(input, NULL, plan->first_wait), "steps", steps);
}

static void print_counts(const char *label, uint32_t broken, uint32_t skew, uint32_t rows)
{
	char broken_text[16], skew_text[16];

	command_print(4, "%s: %" PRIu32 " of %" PRIu32 " rows break (%s)%s%s", label, broken, rows,
		diff_percent_text(broken, rows, broken_text),
		skew ? "; a director that is one table behind loses new connections of " : "",
		skew ? diff_percent_text(skew, rows, skew_text) : "");
}

static void print_drained(const json_t *wait)
{
	const json_t *proxies = json_object_get(wait, "proxies"), *proxy;
	size_t i, count = json_array_size(proxies);

	command_print(3,
		"   Wait until %zu prox%s of table %s %s no connections left (`glb-redirect drained --wait 10m` on each):",
		count, count == 1 ? "y" : "ies", json_string_value(json_object_get(wait, "table")),
		count == 1 ? "has" : "have");
	json_array_foreach(proxies, i, proxy)
	{
		if (i == MAX_PROXIES) {
			printf("     and %zu more; --json lists all\n", count - i);
			break;
		}
		printf("     %s\n", json_string_value(proxy));
	}
}

static void print_waits(json_t *waits, bool before_all)
{
	const json_t *wait;
	size_t i;

	json_array_foreach(waits, i, wait)
	{
		const char *what = json_string_value(json_object_get(wait, "for"));

		if (strcmp(what, "directors") == 0)
			command_print(3,
				"   Wait until all directors use it: `glb-director-cli stats` shows the digest %s.",
				json_string_value(json_object_get(wait, "digest")));
		else if (strcmp(what, "drained") == 0)
			print_drained(wait);
		else
			command_print(5,
				"   Wait until the connections that began before %s have ended: as long as your longest connections last.",
				before_all ? "CURRENT" : "this table was in use everywhere");
	}
	json_decref(waits);
}

static void print_step(const struct plan_input *input, const struct plan *plan, uint32_t index, const char *dir)
{
	const struct plan_step *step = &plan->steps[index];
	bool last = index + 1 == plan->count;
	char digest[20], path[PATH_MAX];

	snprintf(digest, sizeof(digest), "%016" PRIx64, table_set_digest(&step->set));
	printf("\n%u. Publish %s on all directors.\n", (unsigned)index + 1, step_name(dir, index, path));
	command_print(3, "   %s", meanings[step->kind]);
	if (step->broken || step->skew)
		print_counts("   Losses", step->broken, step->skew, input->at_once.rows);
	print_waits(describe_waits(input, digest, last ? ROLLOUT_NO_WAIT : step->wait), false);
}

void plan_print(const struct plan_input *input, const struct plan *plan, const char *dir)
{
	const struct table_set_diff *diff = &input->at_once;
	json_t *unsafe = describe_unsafe(input), *helps = plan_helps(input, plan), *reason;
	json_t *quic = describe_quic(input);
	size_t i;

	print_counts("at once", diff->broken, diff->skew, diff->rows);
	print_counts("this plan", plan->broken, plan->skew, diff->rows);
	json_array_foreach(unsafe, i, reason) command_print(2, "%s", json_string_value(reason));
	json_decref(unsafe);
	json_array_foreach(quic, i, reason) command_print(2, "%s", json_string_value(reason));
	json_decref(quic);
	json_array_foreach(helps, i, reason) command_print(2, "helps: %s", json_string_value(reason));
	json_decref(helps);
	if (plan->first_wait != ROLLOUT_NO_WAIT) {
		puts("\n0. Leave CURRENT in use.");
		print_waits(describe_waits(input, NULL, plan->first_wait), true);
	}
	for (uint32_t step = 0; step < plan->count; step++)
		print_step(input, plan, step, dir);
	putchar('\n');
	command_print(2,
		"If glb-healthcheck has seen a failure, the digest is another one: that of `glb-director-cli show` for the table that it wrote from the published one.");
}
