/* SPDX-License-Identifier: BSD-3-Clause */
/* An extension without anything but defaults is refused, so a table still has exactly one encoding. */
#include <stdlib.h>
#include <string.h>

#include "table/file/table_file_codec.h"
#include "table/file/table_file_layout.h"

#define LAST_TIME INT64_C(253402300799) /* the last second of the year 9999, as in JSON */

/* The size of the server IDs of a backend. */
static size_t ids_size(const struct table *table)
{
	return table->quic_count ? QUIC_MAX_SERVER_IDS * sizeof(struct v3_server_id) : 0;
}

/* The size of the fixed part and of the weights. */
static size_t head_size(const struct table *table)
{
	size_t size = sizeof(struct v3_extension) + table->backend_count * sizeof(uint16_t);

	return (size + V3_ALIGNMENT - 1) / V3_ALIGNMENT * V3_ALIGNMENT;
}

static bool is_extended(const struct table *table)
{
	bool extended = table->balance || table->past_count || table->quic_count;

	for (uint32_t i = 0; i < table->backend_count; i++)
		extended |= table_backend_weight(&table->backends[i]) != TABLE_DEFAULT_WEIGHT;
	return extended;
}

/* The size of a backend of a previous state, with its address. */
static size_t past_backend_size(const struct table *table)
{
	return netaddr_size(&table->backends[0].addr) + sizeof(struct v3_past_backend) + ids_size(table);
}

/* The size of the configurations, and of the server IDs of all backends. */
static size_t quic_size(const struct table *table)
{
	return table->quic_count * sizeof(struct v3_quic) + table->backend_count * ids_size(table);
}

size_t table_extension_size(const struct table *table)
{
	size_t size = head_size(table) + quic_size(table);

	if (!is_extended(table))
		return 0;
	for (uint32_t p = 0; p < table->past_count; p++)
		size += sizeof(struct v3_past) + table->past[p].backend_count * past_backend_size(table);
	return size;
}

/* Returns the byte after the server IDs. */
static uint8_t *encode_ids(const struct table *table, const struct quic_server_id *ids, uint8_t *bytes)
{
	struct v3_server_id *wire = (void *)bytes;

	for (unsigned i = 0; table->quic_count && i < QUIC_MAX_SERVER_IDS; i++) {
		wire[i].length = ids[i].length;
		memcpy(wire[i].bytes, ids[i].bytes, sizeof(wire[i].bytes));
	}
	return bytes + ids_size(table);
}

static uint8_t *encode_quic(const struct table *table, uint8_t *bytes)
{
	for (uint32_t i = 0; i < table->quic_count; i++, bytes += sizeof(struct v3_quic)) {
		const struct quic_config *config = &table->quic[i];
		struct v3_quic *wire = (void *)bytes;

		*wire = (struct v3_quic){config->id, config->server_id_length, config->nonce_length, config->keyed, {0}};
		memcpy(wire->key, config->key, sizeof(wire->key));
	}
	for (uint32_t i = 0; i < table->backend_count; i++)
		bytes = encode_ids(table, table->backends[i].server_ids, bytes);
	return bytes;
}

/* Returns the byte after the state. */
static uint8_t *encode_past(const struct table *table, const struct table_past *past, uint8_t *bytes)
{
	struct v3_past *state = (void *)bytes;

	state->time = past->time;
	state->backend_count = past->backend_count;
	state->balance = past->balance;
	bytes += sizeof(*state);
	for (uint32_t i = 0; i < past->backend_count; i++) {
		const struct table_past_backend *backend = &past->backends[i];
		const struct v3_past_backend wire = {.weight = backend->weight, .unhealthy = !backend->healthy};

		memcpy(bytes, backend->addr.bytes, netaddr_size(&backend->addr));
		bytes += netaddr_size(&backend->addr);
		memcpy(bytes, &wire, sizeof(wire));
		bytes = encode_ids(table, backend->server_ids, bytes + sizeof(wire));
	}
	return bytes;
}

void table_extension_encode(const struct table *table, uint8_t *bytes)
{
	struct v3_extension *head = (void *)bytes;

	if (!is_extended(table))
		return;
	head->balance = table->balance;
	head->past_count = (uint16_t)table->past_count;
	head->quic_count = table->quic_count;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		uint16_t weight = (uint16_t)table_backend_weight(&table->backends[i]);

		memcpy(bytes + sizeof(*head) + i * sizeof(weight), &weight, sizeof(weight));
	}
	bytes = encode_quic(table, bytes + head_size(table));
	for (uint32_t p = 0; p < table->past_count; p++)
		bytes = encode_past(table, &table->past[p], bytes);
}

static bool check_balance(struct binary_reader *reader, const void *at, uint16_t balance)
{
	return binary_reader_check(reader, balance == 0 || (balance >= TABLE_MIN_BALANCE && balance <= TABLE_MAX_BALANCE),
		at, "balance", balance, "1005 to 2000 thousandths, or 0");
}

static bool check_weight(struct binary_reader *reader, const void *at, uint16_t weight)
{
	return binary_reader_check(reader, weight >= 1 && weight <= TABLE_MAX_WEIGHT, at, "weight", weight, "1 to 1000");
}

/* Returns whether the file has `size` bytes more at `at`. If not, adds an error. */
static bool has_room(struct binary_reader *reader, size_t at, size_t size, const char *field)
{
	return binary_reader_check(reader, at <= reader->size && size <= reader->size - at, reader->bytes + at, field,
		size, "no more bytes than the file has");
}

static bool parse_head(struct binary_reader *reader, size_t at, struct table *table)
{
	const struct v3_extension *head = (const void *)(reader->bytes + at);
	const uint8_t *weights = (const uint8_t *)(head + 1);
	size_t size = sizeof(*head) + table->backend_count * sizeof(uint16_t);
	bool ok;

	if (!has_room(reader, at, head_size(table), "extension"))
		return false;
	ok = check_balance(reader, &head->balance, head->balance);
	ok &= BINARY_CHECK(reader, head, past_count, head->past_count <= TABLE_MAX_PAST, "at most 16");
	ok &= BINARY_CHECK(reader, head, quic_count, head->quic_count <= QUIC_MAX_CONFIGS, "at most 7");
	ok &= binary_reader_check_zero(reader, head->zero, sizeof(head->zero), "zero");
	for (uint32_t i = 0; i < table->backend_count; i++) {
		uint16_t *weight = &table->backends[i].weight;

		memcpy(weight, weights + i * sizeof(*weight), sizeof(*weight));
		ok &= check_weight(reader, weights + i * sizeof(*weight), *weight);
	}
	ok &= binary_reader_check_zero(reader, reader->bytes + at + size, head_size(table) - size, "padding");
	if (!ok)
		return false;
	table->balance = head->balance;
	table->past = calloc(head->past_count + 1u, sizeof(*table->past));
	if (!table->past) {
		faults_error(reader->faults, NULL, "out of memory");
		return false;
	}
	table->past_count = head->past_count;
	table->quic_count = head->quic_count;
	return true;
}

/* Reads the server IDs of a backend. */
static bool parse_ids(struct binary_reader *reader, size_t at, const struct table *table, struct quic_server_id *ids)
{
	const struct v3_server_id *wire = (const void *)(reader->bytes + at);
	bool ok = true;

	for (unsigned i = 0; table->quic_count && ok && i < QUIC_MAX_SERVER_IDS; i++) {
		ok = BINARY_CHECK(reader, &wire[i], length, wire[i].length <= QUIC_MAX_SERVER_ID, "0 to 15") &&
		     BINARY_CHECK(reader, &wire[i], length,
			     !i || !wire[i].length || (wire[0].length && wire[0].length < wire[i].length),
			     "more than that of the server ID before it, or 0") &&
		     binary_reader_check_zero(reader, wire[i].bytes + wire[i].length,
			     sizeof(wire[i].bytes) - wire[i].length, "server_id");
		ids[i].length = wire[i].length;
		memcpy(ids[i].bytes, wire[i].bytes, sizeof(ids[i].bytes));
	}
	return ok;
}

static bool parse_config(struct binary_reader *reader, const struct v3_quic *wire, struct quic_config *config)
{
	bool ok = BINARY_CHECK(reader, wire, keyed, wire->keyed <= 1, "0 or 1");

	if (!wire->keyed)
		ok &= binary_reader_check_zero(reader, wire->key, sizeof(wire->key), "key");
	*config = (struct quic_config){.id = wire->id,
		.server_id_length = wire->server_id_length,
		.nonce_length = wire->nonce_length,
		.keyed = wire->keyed};
	memcpy(config->key, wire->key, sizeof(config->key));
	/* table_lint_quic() reports the other faults. It takes these values for those of a JSON file with errors. */
	ok &= BINARY_CHECK(reader, wire, id, wire->id < QUIC_MAX_CONFIGS, "0 to 6");
	ok &= BINARY_CHECK(reader, wire, server_id_length, wire->server_id_length, "1 to 15");
	ok &= BINARY_CHECK(reader, wire, nonce_length, wire->nonce_length, "4 to 18");
	return ok;
}

/* Reads the configurations, and the server IDs of all backends. */
static bool parse_quic(struct binary_reader *reader, size_t at, const char *place, struct table *table)
{
	bool ok = has_room(reader, at, quic_size(table), "quic");

	for (uint32_t i = 0; ok && i < table->quic_count; i++, at += sizeof(struct v3_quic)) {
		binary_reader_at(reader, "%s.quic[%u]", place, i);
		ok = parse_config(reader, (const void *)(reader->bytes + at), &table->quic[i]);
	}
	for (uint32_t i = 0; ok && i < table->backend_count; i++, at += ids_size(table)) {
		binary_reader_at(reader, "%s.backends[%u]", place, i);
		ok = parse_ids(reader, at, table, table->backends[i].server_ids);
	}
	return ok;
}

static bool check_past(struct binary_reader *reader, const struct v3_past *state)
{
	bool ok = BINARY_CHECK(
		reader, state, time, state->time >= 0 && state->time <= LAST_TIME, "seconds from 1970 to 9999");

	ok &= check_balance(reader, &state->balance, state->balance);
	ok &= BINARY_CHECK(reader, state, backend_count, state->backend_count <= TABLE_MAX_BACKENDS, "at most 4096");
	return ok & binary_reader_check_zero(reader, state->zero, sizeof(state->zero), "zero");
}

/* Returns the offset after the state, or 0: there are errors. */
static size_t parse_past(struct binary_reader *reader, size_t at, const struct table *table, struct table_past *past)
{
	const struct v3_past *state = (const void *)(reader->bytes + at);
	const struct netaddr *first = &table->backends[0].addr;
	size_t backend_size = past_backend_size(table);
	bool ok = true;

	if (!has_room(reader, at, sizeof(*state), "past") || !check_past(reader, state))
		return 0;
	at += sizeof(*state);
	if (!has_room(reader, at, state->backend_count * backend_size, "backends"))
		return 0;
	past->backends = calloc(state->backend_count + 1, sizeof(*past->backends));
	if (!past->backends) {
		faults_error(reader->faults, NULL, "out of memory");
		return 0;
	}
	past->time = state->time;
	past->balance = state->balance;
	past->backend_count = state->backend_count;
	for (uint32_t i = 0; i < past->backend_count; i++, at += backend_size) {
		const struct v3_past_backend *backend = (const void *)(reader->bytes + at + netaddr_size(first));

		past->backends[i].addr = netaddr_from_bytes(first->family, reader->bytes + at);
		past->backends[i].weight = backend->weight;
		past->backends[i].healthy = !backend->unhealthy;
		ok &= check_weight(reader, &backend->weight, backend->weight);
		ok &= BINARY_CHECK(reader, backend, unhealthy, backend->unhealthy <= 1, "0 or 1");
		ok &= binary_reader_check_zero(reader, &backend->zero, sizeof(backend->zero), "zero");
		ok &= parse_ids(reader, at + netaddr_size(first) + sizeof(*backend), table, past->backends[i].server_ids);
	}
	return ok ? at : 0;
}

size_t table_extension_parse(struct binary_reader *reader, size_t at, bool extended, struct table *table)
{
	size_t start = at;
	char place[sizeof(reader->place)];

	memcpy(place, reader->place, sizeof(place));
	for (uint32_t i = 0; !extended && i < table->backend_count; i++)
		table->backends[i].weight = TABLE_DEFAULT_WEIGHT;
	if (!extended)
		return at;
	if (!parse_head(reader, at, table))
		return 0;
	at += head_size(table);
	at = parse_quic(reader, at, place, table) ? at + quic_size(table) : 0;
	for (uint32_t p = 0; at && p < table->past_count; p++) {
		binary_reader_at(reader, "%s.previous[%u]", place, p);
		at = parse_past(reader, at, table, &table->past[p]);
	}
	binary_reader_at(reader, "%s", place);
	if (at && !is_extended(table)) {
		binary_reader_reject(reader, reader->bytes + start, "extension", "has only defaults; expected none");
		return 0;
	}
	return at;
}
