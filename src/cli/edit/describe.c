/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/diff/diff_print.h"
#include "table/file/json/table_json_quic.h"

/* The two versions of a table. */
struct versions {
	const struct table *old, *new;
	const struct table_health_table *old_health, *new_health;
	const char *label;
	unsigned lines;
};

static void line(struct versions *versions, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct versions *versions, const char *format, ...)
{
	va_list args;

	printf("%s: ", versions->label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	versions->lines++;
}

#define BACKEND_TEXT_MAX (64 + SERVER_ID_TEXT_MAX)

static const char *backend_text(const struct table_backend *backend, char buf[BACKEND_TEXT_MAX])
{
	char weight[16] = "", ids[SERVER_ID_TEXT_MAX];

	if (table_backend_weight(backend) != TABLE_DEFAULT_WEIGHT)
		snprintf(weight, sizeof(weight), ", weight %u", table_backend_weight(backend));
	snprintf(buf, BACKEND_TEXT_MAX, "%s%s%s%s%s", table_state_name(backend->state),
		backend->healthy ? "" : ", not healthy", weight, backend->server_ids[0].length ? ", server_id " : "",
		backend->server_ids[0].length ? server_id_text(backend->server_ids, ids) : "");
	return buf;
}

static void describe_backend(struct versions *versions, uint32_t old, uint32_t new)
{
	const struct table_backend *before = &versions->old->backends[old], *after = &versions->new->backends[new];
	const struct check_targets *old_checks = &versions->old_health->backends[old],
				   *new_checks = &versions->new_health->backends[new];
	char addr[NETADDR_TEXT_MAX], first[BACKEND_TEXT_MAX], second[BACKEND_TEXT_MAX], *change;

	netaddr_format(&after->addr, addr);
	if (strcmp(backend_text(before, first), backend_text(after, second)) != 0)
		line(versions, "backend %s: %s -> %s", addr, first, second);
	change = diff_checks(old_checks, old_checks->http_settings, new_checks, new_checks->http_settings);
	if (change)
		line(versions, "backend %s: checks: %s", addr, change);
	free(change);
}

static void describe_backends(struct versions *versions)
{
	const struct table *old = versions->old, *new = versions->new;
	uint32_t *old_order = table_backend_order(old), *new_order = table_backend_order(new);
	char addr[NETADDR_TEXT_MAX], state[BACKEND_TEXT_MAX];

	for (uint32_t i = 0; i < old->backend_count; i++) {
		uint32_t at = table_find_backend(new, new_order, &old->backends[i].addr);

		if (at == new->backend_count)
			line(versions, "backend %s removed; it was %s", netaddr_format(&old->backends[i].addr, addr),
				backend_text(&old->backends[i], state));
		else
			describe_backend(versions, i, at);
	}
	for (uint32_t i = 0; i < new->backend_count; i++) {
		const struct check_targets *targets = &versions->new_health->backends[i];
		char *checks;

		if (table_find_backend(old, old_order, &new->backends[i].addr) != old->backend_count)
			continue;
		checks = table_health_text(targets, targets->http_settings);
		line(versions, "backend %s added: %s; checks: %s", netaddr_format(&new->backends[i].addr, addr),
			backend_text(&new->backends[i], state), checks ? checks : "");
		free(checks);
	}
	free(old_order);
	free(new_order);
}

/* A bind with `quic` is another one than without. */
static int compare_binds(const void *a, const void *b)
{
	const struct table_bind *x = a, *y = b;
	int order = table_bind_compare(a, b);

	return order ? order : x->quic - y->quic;
}

/* Prints a line for each bind of `table` that `other` does not have. */
static void describe_binds(
	struct versions *versions, const struct table *table, const struct table *other, const char *what)
{
	struct table_bind *sorted = calloc(other->bind_count + 1, sizeof(*sorted));
	char text[TABLE_BIND_TEXT_MAX];

	if (!sorted) {
		command_error("out of memory");
		return;
	}
	for (uint32_t i = 0; i < other->bind_count; i++)
		sorted[i] = other->binds[i];
	qsort(sorted, other->bind_count, sizeof(*sorted), compare_binds);
	for (uint32_t i = 0; i < table->bind_count; i++)
		if (!bsearch(&table->binds[i], sorted, other->bind_count, sizeof(*sorted), compare_binds))
			line(versions, "bind %s %s", table_bind_text(&table->binds[i], text), what);
	free(sorted);
}

static const char *name_of(const struct table *table)
{
	return table->name ? table->name : "none";
}

static void describe_balance(struct versions *versions)
{
	const struct table *both[] = {versions->old, versions->new};
	char text[2][16];

	for (int i = 0; i < 2; i++)
		if (both[i]->balance)
			snprintf(text[i], sizeof(text[i]), "%g", both[i]->balance / 1000.0);
		else
			strcpy(text[i], "off");
	if (both[0]->balance != both[1]->balance)
		line(versions, "balance: %s -> %s", text[0], text[1]);
}

/* That there are more states goes without saying if something else changes. */
static void describe_past(struct versions *versions)
{
	uint32_t old = versions->old->past_count, new = versions->new->past_count;

	if (new < old || (new > old && versions->lines == 0))
		line(versions, "previous states: %u -> %u", old, new);
}

static void describe_table(struct versions *versions)
{
	const struct check_timing *old = &versions->old_health->defaults.timing,
				  *new = &versions->new_health->defaults.timing;

	if (strcmp(name_of(versions->old), name_of(versions->new)) != 0)
		line(versions, "name: %s -> %s", name_of(versions->old), name_of(versions->new));
	if (versions->old->hops != versions->new->hops)
		line(versions, "hops: %u -> %u", versions->old->hops, versions->new->hops);
	describe_balance(versions);
	if (memcmp(versions->old->hash_key, versions->new->hash_key, SIPHASH_KEY_SIZE) != 0)
		line(versions, "another hash_key");
	if (memcmp(versions->old->seed, versions->new->seed, SIPHASH_KEY_SIZE) != 0)
		line(versions, "another seed");
	if (old->interval_ms != new->interval_ms || old->timeout_ms != new->timeout_ms ||
		old->trigger_healthy != new->trigger_healthy || old->trigger_unhealthy != new->trigger_unhealthy)
		line(versions, "timing of the health checks changed");
	for (enum http_setting i = 0; i < HTTP_SETTING_COUNT; i++) {
		const char *before = versions->old_health->defaults.http.values[i],
			   *after = versions->new_health->defaults.http.values[i];

		if (strcmp(before ? before : "", after ? after : "") != 0)
			line(versions, "http_%s of the health checks changed", http_setting_name(i));
	}
	for (uint8_t id = 0; id < QUIC_MAX_CONFIGS; id++) {
		const char *change = table_quic_change(versions->old, versions->new, id);

		if (change)
			line(versions, "QUIC configuration %u: %s", id, change);
	}
	describe_binds(versions, versions->old, versions->new, "removed");
	describe_binds(versions, versions->new, versions->old, "added");
	describe_backends(versions);
	describe_past(versions);
}

unsigned describe_changes(const struct table_document *before, const struct table_document *after)
{
	uint32_t count = before->set.count > after->set.count ? before->set.count : after->set.count;
	unsigned lines = 0;
	char label[16];

	for (uint32_t i = 0; i < count; i++) {
		const struct table_set *labelled = i < before->set.count ? &before->set : &after->set;
		struct versions versions = {.label = table_label(labelled, i, label)};

		if (i >= before->set.count || i >= after->set.count) {
			line(&versions, "table %s", i < before->set.count ? "removed" : "added");
		} else {
			versions.old = &before->set.tables[i];
			versions.new = &after->set.tables[i];
			versions.old_health = &before->health.tables[i];
			versions.new_health = &after->health.tables[i];
			describe_table(&versions);
		}
		lines += versions.lines;
	}
	return lines;
}
