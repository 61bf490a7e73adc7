/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/byteorder.h"
#include "common/text.h"
#include "common/utc.h"
#include "table/file/json/json_reader.h"
#include "table/file/table_document.h"
#include "table/file/json/table_json_health.h"
#include "table/file/json/table_json_quic.h"
#include "table/table_lint.h"

/* Clocks of hosts may differ by this much. */
#define CLOCK_ERROR_S 300

/* What the objects of a table are read into. */
struct table_draft {
	struct table table;
	struct table_health_table health;
};

struct backend_draft {
	struct table_backend backend;
	struct check_targets checks;
};

struct bind_draft {
	struct table_bind bind;
	json_int_t port, start, end; /* -1: absent; -2: invalid, and an error was added */
	size_t *host_bits; /* counts the binds with bits set beyond the prefix length */
};

static int compare_addresses(const void *a, const void *b)
{
	return netaddr_compare(a, b);
}

static void keep(void *)
{
}

/*
 * The path of the reader is that of an array of `count` objects, and `first` is the address of the first one, which
 * member `ip` has. The others follow at a distance of `stride` bytes. Adds an error for each address that an earlier
 * object has, too. Ignores addresses that could not be read: they have no family.
 */
static void check_twins(struct json_reader *reader, const struct netaddr *first, size_t stride, uint32_t count)
{
	char text[NETADDR_TEXT_MAX];
	void *tree = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct netaddr *addr = (const void *)((const char *)first + i * stride), *const * found;
		size_t mark;

		if (addr->family == NETADDR_NONE)
			continue;
		found = tsearch(addr, &tree, compare_addresses);
		if (found && *found == addr)
			continue;
		mark = json_reader_enter_index(reader, i);
		json_reader_enter_key(reader, "ip");
		if (found)
			json_reader_error(reader, "'%s' is listed twice: backends[%zu] has this address already",
				netaddr_format(addr, text),
				(size_t)((const char *)*found - (const char *)first) / stride);
		else
			json_reader_error(reader, "out of memory");
		json_reader_leave(reader, mark);
	}
	tdestroy(tree, keep);
}

static void read_backend_ip(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	if (!json_is_string(value) || !netaddr_parse(json_string_value(value), field))
		json_reader_reject(reader, value, JSON_STRING, member->required);
}

static void read_state(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	uint8_t state;

	if (json_is_string(value) && table_state_parse(json_string_value(value), &state))
		*(uint8_t *)field = state;
	else
		json_reader_reject(reader, value, JSON_STRING, "a state: active, filling, draining or inactive");
}

static void read_healthy(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	struct backend_draft *draft = field;

	draft->backend.healthy_omitted = false;
	if (json_is_boolean(value))
		draft->backend.healthy = json_is_true(value);
	else
		json_reader_reject(reader, value, JSON_TRUE, "true or false");
	draft->checks.marked_unhealthy = !draft->backend.healthy;
}

static void read_bool(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	if (json_is_boolean(value))
		*(bool *)field = json_is_true(value);
	else
		json_reader_reject(reader, value, JSON_TRUE, "true or false");
}

#define WEIGHT(of, field) .read = json_read_unsigned, JSON_AT(of, field), .min = 1, .max = TABLE_MAX_WEIGHT

const struct json_member table_json_backend[] = {
	{"ip", "an IPv4 or IPv6 address", read_backend_ip, JSON_AT(struct backend_draft, backend.addr)},
	{"state", "active, filling, draining or inactive", read_state, JSON_AT(struct backend_draft, backend.state),
		.set = JSON_SET_TEXT},
	{"healthy", .read = read_healthy, .set = JSON_SET_VALUE},
	{"weight", WEIGHT(struct backend_draft, backend.weight), .set = JSON_SET_VALUE, .decides_rows = true},
	{"server_id", .read = table_json_read_server_id, JSON_AT(struct backend_draft, backend.server_ids),
		.set = JSON_SET_TEXT, .decides_rows = true},
	{"healthchecks", .read = table_json_read_checks, JSON_AT(struct backend_draft, checks),
		.members = table_json_checks},
	{0},
};

static void read_backends(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table_draft *draft = field;
	struct table *table = &draft->table;
	bool any = false;

	table->backends = json_reader_array(reader, value, member, sizeof(*table->backends), &table->backend_count);
	draft->health.backends = calloc((size_t)table->backend_count + 1, sizeof(*draft->health.backends));
	if (!table->backends || !draft->health.backends) {
		json_reader_error(reader, "out of memory");
		return;
	}
	draft->health.backend_count = table->backend_count;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		/* These values also replace invalid ones, so that these cause no further faults. */
		struct backend_draft backend = {.backend = {.state = TABLE_ACTIVE,
							.healthy = true,
							.healthy_omitted = true,
							.weight = TABLE_DEFAULT_WEIGHT}};

		json_reader_element(reader, value, i, member->members, &backend);
		table->backends[i] = backend.backend;
		draft->health.backends[i] = backend.checks;
		any |= backend.backend.state != TABLE_INACTIVE;
	}
	check_twins(reader, &table->backends->addr, sizeof(*table->backends), table->backend_count);
	if ((json_is_array(value) || json_is_null(value)) && !any)
		json_reader_error(reader, "%s; a table needs at least one that is not inactive",
			table->backend_count ? "every backend is inactive" : "no backend");
}

static void read_bind_ip(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct bind_draft *draft = field;
	const char *text = json_string_value(value);
	char masked[NETPREFIX_TEXT_MAX], shown[JSON_READER_TEXT_MAX];
	bool host_bits;

	if (!text || !netprefix_parse(text, &draft->bind.prefix, &host_bits)) {
		json_reader_reject(reader, value, JSON_STRING, member->required);
		return;
	}
	if (host_bits && (*draft->host_bits)++ < TABLE_LINT_MAX)
		json_reader_warn(reader, "'%s' has bits set beyond the prefix length, and is read as '%s'",
			json_reader_text(text, 64, shown), netprefix_format(&draft->bind.prefix, masked));
}

static void read_proto(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	const char *name = json_string_value(value);

	if (name && strcmp(name, "tcp") == 0)
		*(uint8_t *)field = TABLE_TCP;
	else if (name && strcmp(name, "udp") == 0)
		*(uint8_t *)field = TABLE_UDP;
	else
		json_reader_reject(reader, value, JSON_STRING, "a protocol: tcp or udp");
}

static void read_port(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	if (!json_reader_integer(reader, value, member->min, member->max, field))
		*(json_int_t *)field = -2;
}

#define PORT(field) .read = read_port, JSON_AT(struct bind_draft, field), .max = UINT16_MAX

const struct json_member table_json_bind[] = {
	{"ip", "an IPv4 or IPv6 address or CIDR prefix", .read = read_bind_ip},
	{"proto", "tcp or udp", read_proto, JSON_AT(struct bind_draft, bind.protocol)},
	{"port", PORT(port)},
	{"port_start", PORT(start)},
	{"port_end", PORT(end)},
	{"quic", .read = read_bool, JSON_AT(struct bind_draft, bind.quic), .set = JSON_SET_VALUE, .decides_rows = true},
	{0},
};

/* Checks that the bind has either `port`, or both port_start and port_end, and stores its ports. */
static void settle_ports(struct json_reader *reader, struct bind_draft *draft)
{
	bool range = draft->start != -1 || draft->end != -1;
	size_t mark;

	if (draft->port != -1 && !range)
		draft->start = draft->end = draft->port;
	mark = json_reader_enter_key(reader, draft->port != -1 || !range ? "port"
					     : draft->end == -1          ? "port_end"
									 : "port_start");
	if (draft->port != -1 && range)
		json_reader_error(reader,
			"given together with port_start or port_end; give either port, or both port_start and port_end");
	else if (draft->port == -1 && !range)
		json_reader_error(reader, "missing; expected port, or port_start and port_end");
	else if (draft->start == -1 || draft->end == -1)
		json_reader_error(reader, "missing; port_start and port_end belong together");
	else if (draft->end >= 0 && draft->start > draft->end)
		json_reader_error(reader,
			"'%" JSON_INTEGER_FORMAT "' is greater than port_end '%" JSON_INTEGER_FORMAT "'", draft->start,
			draft->end);
	json_reader_leave(reader, mark);
	if (draft->start >= 0 && draft->end >= 0) {
		draft->bind.port_start = (uint16_t)draft->start;
		draft->bind.port_end = (uint16_t)draft->end;
	}
}

static void read_binds(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table *table = field;
	size_t host_bits = 0;

	table->binds = json_reader_array(reader, value, member, sizeof(*table->binds), &table->bind_count);
	for (uint32_t i = 0; i < table->bind_count; i++) {
		struct bind_draft draft = {.port = -1, .start = -1, .end = -1, .host_bits = &host_bits};
		size_t mark;

		json_reader_element(reader, value, i, member->members, &draft);
		mark = json_reader_enter_index(reader, i);
		if (json_is_object(json_array_get(value, i)))
			settle_ports(reader, &draft);
		json_reader_leave(reader, mark);
		table->binds[i] = draft.bind;
	}
	if (host_bits > TABLE_LINT_MAX)
		json_reader_warn(
			reader, "%zu more binds have bits set beyond the prefix length", host_bits - TABLE_LINT_MAX);
}

/* Stores the value in thousandths. */
static void read_balance(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	double number = json_number_value(value), thousandths = number * 1000 + 0.5;
	uint16_t balance;

	if (thousandths >= TABLE_MIN_BALANCE && thousandths < TABLE_MAX_BALANCE + 1) {
		balance = (uint16_t)thousandths;
		/* Both sides are the double next to the decimal number. */
		if (balance / 1000.0 == number) {
			*(uint16_t *)field = balance;
			return;
		}
	}
	json_reader_reject(reader, value, json_is_integer(value) ? JSON_INTEGER : JSON_REAL,
		"a number from 1.005 to 2 with at most 3 decimals");
}

static void read_time(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	int64_t *unix_s = field;

	if (!json_is_string(value) || !utc_parse(json_string_value(value), unix_s))
		json_reader_reject(reader, value, JSON_STRING, "a time in UTC like 2026-01-01T00:00:00Z");
	else if (reader->faults->thorough && *unix_s > (int64_t)time(NULL) + CLOCK_ERROR_S)
		json_reader_warn(reader, "'%s' is in the future: compare the clocks of the hosts that edit tables",
			json_string_value(value));
}

static const struct json_member past_backend_members[] = {
	{"ip", "an IPv4 or IPv6 address", read_backend_ip, JSON_AT(struct table_past_backend, addr)},
	{"weight", WEIGHT(struct table_past_backend, weight)},
	{"healthy", .read = read_bool, JSON_AT(struct table_past_backend, healthy)},
	{"server_id", .read = table_json_read_server_id, JSON_AT(struct table_past_backend, server_ids)},
	{0},
};

static void read_past_backends(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table_past *past = field;

	past->backends = json_reader_array(reader, value, member, sizeof(*past->backends), &past->backend_count);
	for (uint32_t i = 0; i < past->backend_count; i++) {
		past->backends[i] = (struct table_past_backend){.weight = TABLE_DEFAULT_WEIGHT, .healthy = true};
		json_reader_element(reader, value, i, member->members, &past->backends[i]);
	}
	if (past->backends)
		check_twins(reader, &past->backends->addr, sizeof(*past->backends), past->backend_count);
}

static const struct json_member past_members[] = {
	{"time", "the time when a newer state replaced this one, like 2026-01-01T00:00:00Z", read_time,
		JSON_AT(struct table_past, time)},
	{"balance", .read = read_balance, JSON_AT(struct table_past, balance)},
	{"by_health", .read = read_bool, JSON_AT(struct table_past, by_health)},
	{"backends", "an array of the backends that could be first hops", read_past_backends, .max = TABLE_MAX_BACKENDS,
		.members = past_backend_members},
	{0},
};

static void read_previous(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table *table = field;

	table->past = json_reader_array(reader, value, member, sizeof(*table->past), &table->past_count);
	for (uint32_t i = 0; i < table->past_count; i++)
		json_reader_element(reader, value, i, member->members, &table->past[i]);
}

static void read_name(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	const char *text = json_string_value(value);
	char **name = field;

	if (text && !*text)
		return;
	if (!text || !table_name_is_valid(text, strlen(text)))
		json_reader_reject(reader, value, JSON_STRING, "a name: at most 255 bytes without control characters");
	else if (!(*name = strdup(text)))
		json_reader_error(reader, "out of memory");
}

const struct json_member table_json_table[] = {
	{"name", .read = read_name, JSON_AT(struct table, name), .set = JSON_SET_TEXT},
	{"hash_key", "32 hex digits", table_json_read_key, JSON_AT(struct table, hash_key)},
	{"seed", "32 hex digits", table_json_read_key, JSON_AT(struct table, seed)},
	{"hops", .read = json_read_unsigned, JSON_AT(struct table, hops), .min = TABLE_MIN_HOPS, .max = TABLE_MAX_HOPS,
		.set = JSON_SET_VALUE},
	{"balance", .read = read_balance, JSON_AT(struct table, balance), .decides_rows = true},
	{"previous", .read = read_previous, .max = TABLE_MAX_PAST, .members = past_members, .decides_rows = true},
	{"quic", .read = table_json_read_quic, .max = QUIC_MAX_CONFIGS, .members = table_json_quic, .decides_rows = true},
	{"binds", "an array of binds", read_binds, .max = TABLE_MAX_BINDS, .members = table_json_bind},
	{"backends", "an array of backends", read_backends, .max = TABLE_MAX_BACKENDS, .members = table_json_backend},
	{"healthchecks", .read = table_json_read_defaults, JSON_AT(struct table_draft, health.defaults),
		.members = table_json_defaults},
	{0},
};
_Static_assert(offsetof(struct table_draft, table) == 0, "members of struct table are members of the draft");

static void read_tables(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table_document *document = field;
	struct table_set *set = &document->set;
	struct table_health *health = &document->health;

	set->tables = json_reader_array(reader, value, member, sizeof(*set->tables), &set->count);
	health->tables = calloc((size_t)set->count + 1, sizeof(*health->tables));
	if (!set->tables || !health->tables) {
		json_reader_error(reader, "out of memory");
		return;
	}
	health->count = set->count;
	for (uint32_t i = 0; i < set->count; i++) {
		struct table_draft draft = {.table.hops = TABLE_DEFAULT_HOPS};

		json_reader_element(reader, value, i, member->members, &draft);
		set->tables[i] = draft.table;
		health->tables[i] = draft.health;
	}
}

static void read_replaces(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	uint64_t *replaces = field;
	uint8_t parsed[sizeof(*replaces)] = {0};

	if (text_bytes(json_string_value(value), parsed, sizeof(parsed)))
		*replaces = load_be64(parsed);
	if (!*replaces)
		json_reader_reject(
			reader, value, JSON_STRING, "a fingerprint: 16 hex digits, as glb-director-cli show prints it");
}

const struct json_member table_json_document[] = {
	{"tables", "an array of tables", read_tables, .max = TABLE_MAX_TABLES, .members = table_json_table},
	{"healthchecks", .read = table_json_read_defaults, JSON_AT(struct table_document, health.defaults),
		.members = table_json_defaults},
	{"replaces", .read = read_replaces, JSON_AT(struct table_document, set.replaces)},
	{0},
};

/* For faults of table_lint(), which knows only the path. */
static void locate_path(void *locate, struct faults_place *place)
{
	struct json_span span;

	json_locate_path(locate, place->where, &span);
	place->has_column = true;
	place->line = span.value.line;
	place->column = span.value.column;
}

static void read_and_lint(
	const char *text, size_t size, json_t *root, struct table_document *document, struct faults *faults)
{
	struct json_locate locate = {.text = text, .size = size};
	struct json_reader reader = {.faults = faults, .locate = &locate};

	json_reader_object(&reader, root, table_json_document, document);
	faults->locate = locate_path;
	faults->locate_context = &locate;
	table_lint(&document->set, faults);
	table_json_health_lint(&document->health, faults);
	if (faults->thorough)
		table_health_warn(&document->health, faults);
	faults->locate = NULL;
}

int table_json_parse_document(const char *text, size_t size, struct table_document *document, struct faults *faults)
{
	size_t errors = faults->errors;
	json_t *root;
	int error = json_reader_parse(text, size, &root, faults);

	*document = (struct table_document){0};
	if (error)
		return error;
	read_and_lint(text, size, root, document, faults);
	json_decref(root);
	document->text = strndup(text, size);
	document->size = size;
	if (!document->text)
		faults_error(faults, NULL, "out of memory");
	if (faults->errors == errors)
		return 0;
	table_document_free(document);
	return -EINVAL;
}

int table_json_parse_tolerant(const char *text, size_t size, struct table_document *document, struct faults *faults)
{
	faults->thorough = true;
	if (table_json_parse_document(text, size, document, faults) == 0)
		return 0;
	faults_clear(faults);
	faults->thorough = false;
	return table_json_parse_document(text, size, document, faults);
}

int table_json_parse(const char *text, size_t size, struct table_set *set, struct faults *faults)
{
	struct table_document document;
	int error = table_json_parse_document(text, size, &document, faults);

	*set = document.set;
	document.set = (struct table_set){0};
	table_document_free(&document);
	return error;
}
