/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table_lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* Returns the first configuration with this length of server IDs, or NULL. */
static const struct quic_config *with_length(const struct table *table, uint8_t length)
{
	for (uint32_t i = 0; i < table->quic_count; i++)
		if (table->quic[i].server_id_length == length)
			return &table->quic[i];
	return NULL;
}

/* Compares configuration `i` with those before it. */
static void lint_config(const struct table *table, uint32_t t, uint32_t i, struct faults *faults)
{
	const struct quic_config *config = &table->quic[i], *same = with_length(table, config->server_id_length);
	uint32_t lengths = 0;
	char where[64];

	snprintf(where, sizeof(where), "tables[%u].quic[%u].id", t, i);
	for (uint32_t j = 0; j < i; j++) {
		lengths += with_length(table, table->quic[j].server_id_length) == &table->quic[j];
		if (table->quic[j].id == config->id)
			faults_error(faults, where, "'%u' is listed twice: quic[%u] has this id already", config->id, j);
	}
	snprintf(where, sizeof(where), "tables[%u].quic[%u].server_id_length", t, i);
	if (same == config && lengths >= QUIC_MAX_SERVER_IDS)
		faults_error(faults, where,
			"'%u' is the third server_id_length of the table: a proxy has at most 2 server IDs, of different lengths",
			config->server_id_length);
	if (same->keyed != config->keyed)
		faults_error(faults, where,
			"'%u' is also that of quic[%u], and only one of both has a key: observers read server IDs without a key, so those with a key must be others; use another length",
			config->server_id_length, (unsigned)(same - table->quic));
}

/* Returns false if a member of `quic` could not be read. */
static bool lint_configs(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48];

	for (uint32_t i = 0; i < table->quic_count; i++)
		if (table->quic[i].id >= QUIC_MAX_CONFIGS || !table->quic[i].server_id_length ||
			!table->quic[i].nonce_length)
			return false;
	for (uint32_t i = 0; i < table->quic_count; i++) {
		const char *fault = quic_config_fault(&table->quic[i]);

		snprintf(where, sizeof(where), "tables[%u].quic[%u]", t, i);
		if (fault)
			faults_error(faults, where, "%s", fault);
		lint_config(table, t, i, faults);
	}
	return true;
}

/* A server ID of a backend: state 0 is the present one, and others are previous[state - 1]. */
struct holder {
	const struct quic_server_id *id;
	const struct netaddr *addr;
	uint32_t state, backend;
};

static int compare_holders(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;
	int order = memcmp(x->id, y->id, sizeof(*x->id));

	if (!order)
		order = (x->state > y->state) - (x->state < y->state);
	return order ? order : (x->backend > y->backend) - (x->backend < y->backend);
}

/* Compares two holders of one server ID: `first` is a backend of the table. */
static void lint_holders(const struct holder *first, const struct holder *other, uint32_t t, struct faults *faults)
{
	char where[64], id[2 * QUIC_MAX_SERVER_ID + 1], addr[NETADDR_TEXT_MAX];
	uint32_t holder = other->state ? first->backend : other->backend;

	snprintf(where, sizeof(where), "tables[%u].backends[%u].server_id", t, holder);
	text_hex(first->id->bytes, first->id->length, id);
	if (!other->state)
		faults_error(faults, where, "'%s' is listed twice: backends[%u] has this server ID already", id,
			first->backend);
	else
		(faults->thorough ? faults_error : faults_warn)(faults, where,
			"'%s' was the server ID of %s in previous[%u]: this proxy would get its QUIC connections; use a server ID that was never used, or wait until this state is forgotten",
			id, netaddr_format(other->addr, addr), other->state - 1);
}

/* Reports each backend whose server ID another one has, and one other holder in a previous state. */
static void lint_all_holders(struct holder *holders, size_t count, uint32_t t, struct faults *faults)
{
	bool reported = false;
	size_t first = 0;

	qsort(holders, count, sizeof(*holders), compare_holders);
	for (size_t i = 1; i < count; i++) {
		const struct holder *head = &holders[first], *next = &holders[i];

		if (memcmp(head->id, next->id, sizeof(*next->id)) != 0) {
			first = i;
			reported = false;
		} else if (!head->state && !(next->state && reported) && netaddr_compare(head->addr, next->addr) != 0) {
			lint_holders(head, next, t, faults);
			reported = next->state;
		}
	}
}

static void add_holders(struct holder *holders, size_t *count, const struct quic_server_id *ids, struct holder holder)
{
	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS && ids[i].length; i++) {
		holder.id = &ids[i];
		holders[(*count)++] = holder;
	}
}

/* Reports server IDs that several proxies have, or had. */
static void lint_repeated(const struct table *table, uint32_t t, struct faults *faults)
{
	size_t room = table->backend_count, count = 0;
	struct holder *holders;

	for (uint32_t p = 0; p < table->past_count; p++)
		room += table->past[p].backend_count;
	holders = calloc(room * QUIC_MAX_SERVER_IDS + 1, sizeof(*holders));
	if (!holders) {
		faults_error(faults, "tables", "out of memory");
		return;
	}
	for (uint32_t i = 0; i < table->backend_count; i++)
		add_holders(holders, &count, table->backends[i].server_ids,
			(struct holder){.addr = &table->backends[i].addr, .backend = i});
	for (uint32_t p = 0; p < table->past_count; p++)
		for (uint32_t i = 0; i < table->past[p].backend_count; i++)
			add_holders(holders, &count, table->past[p].backends[i].server_ids,
				(struct holder){.addr = &table->past[p].backends[i].addr, .state = p + 1, .backend = i});
	lint_all_holders(holders, count, t, faults);
	free(holders);
}

static void lint_lengths(const struct table *table, uint32_t t, uint32_t backend, struct faults *faults)
{
	char where[64], text[2 * QUIC_MAX_SERVER_ID + 1];

	snprintf(where, sizeof(where), "tables[%u].backends[%u].server_id", t, backend);
	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS; i++) {
		const struct quic_server_id *id = &table->backends[backend].server_ids[i];

		if (id->length && !with_length(table, id->length))
			faults_error(faults, where, "'%s' has %u byte%s, but %s", text_hex(id->bytes, id->length, text),
				id->length, text_plural(id->length),
				table->quic_count ? "no configuration of `quic` has this server_id_length"
						  : "the table has no `quic`");
	}
}

static void lint_binds(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[64];

	for (uint32_t i = 0; i < table->bind_count; i++) {
		snprintf(where, sizeof(where), "tables[%u].binds[%u].quic", t, i);
		if (table->binds[i].quic && table->binds[i].protocol == TABLE_TCP)
			faults_error(faults, where, "is true, but the bind is for tcp: QUIC packets are udp");
		else if (table->binds[i].quic && !table->quic_count)
			faults_error(faults, where,
				"is true, but the table has no `quic`: add a configuration with edit add-quic");
	}
}

void table_lint_quic(const struct table_set *set, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];

		if (lint_configs(table, t, faults))
			for (uint32_t i = 0; i < table->backend_count; i++)
				lint_lengths(table, t, i, faults);
		lint_binds(table, t, faults);
		lint_repeated(table, t, faults);
	}
}

/* Adds a warning that names the first backend that a configuration cannot name, and counts the others. */
static void lint_missing(const struct table *table, uint32_t t, const struct quic_config *config, struct faults *faults)
{
	char where[64], addr[NETADDR_TEXT_MAX], others[48] = "";
	uint32_t count = 0, first = 0;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (table->backends[i].state != TABLE_INACTIVE &&
			!table_server_id(table->backends[i].server_ids, config->server_id_length) && count++ == 0)
			first = i;
	if (!count)
		return;
	if (count > 1)
		snprintf(others, sizeof(others), " (and %u more in this table)", count - 1);
	snprintf(where, sizeof(where), "tables[%u].backends[%u]", t, first);
	faults_warn(faults, where,
		"%s has no server_id of %u byte%s, which QUIC configuration %u needs: its QUIC connections do not survive a change of their address%s",
		netaddr_format(&table->backends[first].addr, addr), config->server_id_length,
		text_plural(config->server_id_length), config->id, others);
}

void table_lint_quic_use(const struct table *table, uint32_t t, struct faults *faults)
{
	char where[48];
	bool used = false;

	for (uint32_t i = 0; i < table->bind_count; i++)
		used |= table->binds[i].quic;
	snprintf(where, sizeof(where), "tables[%u].quic", t);
	if (table->quic_count && !used)
		faults_warn(faults, where,
			"no bind has `quic`: true, so connection IDs do not choose the proxy of any packet");
	for (uint32_t i = 0; i < table->quic_count; i++) {
		const struct quic_config *config = &table->quic[i];

		if (config->server_id_length && with_length(table, config->server_id_length) == config)
			lint_missing(table, t, config, faults);
		snprintf(where, sizeof(where), "tables[%u].quic[%u]", t, i);
		if (faults->thorough && !config->keyed)
			faults_warn(faults, where,
				"has no key: whoever observes packets can tell which proxy has which connections");
	}
}
