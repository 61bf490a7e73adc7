/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "table/file/json/json_parse.h"
#include "table/file/json/json_reader.h"
#include "table/file/json/json_twins.h"
#include "table/file/table_document.h"
#include "table/file/json/table_json_health.h"
#include "table/file/json/table_json_past.h"
#include "table/table_lint.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The file that is being read; `read` functions get it as `into`. */
struct file_draft {
	struct table_set *set;
	struct table_health *health;
};

/* The table that is being read; likewise. */
struct table_draft {
	struct table *table;
	struct table_health_table *health;
	size_t host_bits; /* binds with bits set beyond the prefix length */
};

/* The backend that is being read; likewise. */
struct backend_draft {
	struct table_backend *backend;
	struct check_targets *targets;
};

/* The bind that is being read; likewise. */
struct bind_draft {
	struct table_draft *draft;
	struct table_bind *bind;
	json_int_t port, start, end; /* -1: absent; -2: invalid, and an error was added */
};

static void read_backend_healthchecks(struct json_reader *reader, json_t *value, void *into)
{
	table_json_health_targets(reader, value, ((struct backend_draft *)into)->targets);
}

static void read_backend_ip(struct json_reader *reader, json_t *value, void *into)
{
	struct table_backend *backend = ((struct backend_draft *)into)->backend;

	if (!json_is_string(value) || !netaddr_parse(json_string_value(value), &backend->addr))
		json_reader_reject(reader, value, JSON_STRING, "an IPv4 address");
}

static void read_state(struct json_reader *reader, json_t *value, void *into)
{
	struct table_backend *backend = ((struct backend_draft *)into)->backend;
	const char *name = json_string_value(value);

	for (uint8_t state = 0; name && state <= TABLE_INACTIVE; state++) {
		if (strcmp(name, table_state_name(state)) == 0) {
			backend->state = state;
			return;
		}
	}
	json_reader_reject(reader, value, JSON_STRING, "a state: active, filling, draining or inactive");
}

static void read_healthy(struct json_reader *reader, json_t *value, void *into)
{
	struct table_backend *backend = ((struct backend_draft *)into)->backend;

	backend->healthy_omitted = false;
	if (json_is_boolean(value))
		backend->healthy = json_is_true(value);
	else
		json_reader_reject(reader, value, JSON_TRUE, "true or false");
	((struct backend_draft *)into)->targets->marked_unhealthy = !backend->healthy;
}

static void read_weight(struct json_reader *reader, json_t *value, void *into)
{
	json_int_t weight;

	if (json_reader_integer(reader, value, 1, TABLE_MAX_WEIGHT, &weight))
		((struct backend_draft *)into)->backend->weight = (uint16_t)weight;
}

static void read_backend(struct json_reader *reader, json_t *value, struct backend_draft *draft)
{
	static const struct json_field fields[] = {
		{"ip", "an IPv4 address", read_backend_ip},
		{"state", "active, filling, draining or inactive", read_state},
		{"healthy", NULL, read_healthy},
		{"weight", NULL, read_weight},
		{"healthchecks", NULL, read_backend_healthchecks},
	};

	/* These values also replace invalid ones, so that these cause no further faults. */
	draft->backend->state = TABLE_ACTIVE;
	draft->backend->healthy = true;
	draft->backend->healthy_omitted = true;
	draft->backend->weight = TABLE_DEFAULT_WEIGHT;
	json_reader_object(reader, value, fields, COUNT(fields), draft);
}

static void read_backends(struct json_reader *reader, json_t *value, void *into)
{
	struct table *table = ((struct table_draft *)into)->table;
	struct table_health_table *health = ((struct table_draft *)into)->health;
	size_t count = json_reader_array(reader, value, TABLE_MAX_BACKENDS);
	bool any = false;

	table->backends = calloc(count + 1, sizeof(*table->backends));
	health->backends = calloc(count + 1, sizeof(*health->backends));
	if (!table->backends || !health->backends) {
		json_reader_error(reader, "out of memory");
		return;
	}
	table->backend_count = health->backend_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct backend_draft draft = {&table->backends[i], &health->backends[i]};
		size_t mark = json_reader_enter_index(reader, i);

		read_backend(reader, json_array_get(value, i), &draft);
		any |= table->backends[i].state != TABLE_INACTIVE;
		json_reader_leave(reader, mark);
	}
	if (count)
		json_twins_check(reader, &table->backends->addr, sizeof(*table->backends), table->backend_count);
	if ((json_is_array(value) || json_is_null(value)) && !any)
		json_reader_error(reader, "%s; a table needs at least one that is not inactive",
			count ? "every backend is inactive" : "no backend");
}

static void read_bind_ip(struct json_reader *reader, json_t *value, void *into)
{
	struct bind_draft *draft = into;
	const char *text = json_string_value(value);
	char masked[NETPREFIX_TEXT_MAX], shown[JSON_READER_TEXT_MAX];
	bool host_bits;

	if (!text || !netprefix_parse(text, &draft->bind->prefix, &host_bits)) {
		json_reader_reject(reader, value, JSON_STRING, "an IPv4 or IPv6 address or CIDR prefix");
		return;
	}
	if (host_bits && draft->draft->host_bits++ < TABLE_LINT_MAX)
		json_reader_warn(reader, "'%s' has bits set beyond the prefix length, and is read as '%s'",
			json_reader_text(text, 64, shown), netprefix_format(&draft->bind->prefix, masked));
}

static void read_proto(struct json_reader *reader, json_t *value, void *into)
{
	struct bind_draft *draft = into;
	const char *name = json_string_value(value);

	if (name && strcmp(name, "tcp") == 0)
		draft->bind->protocol = TABLE_TCP;
	else if (name && strcmp(name, "udp") == 0)
		draft->bind->protocol = TABLE_UDP;
	else
		json_reader_reject(reader, value, JSON_STRING, "a protocol: tcp or udp");
}

static void read_bind_port(struct json_reader *reader, const json_t *value, json_int_t *out)
{
	if (!json_reader_integer(reader, value, 0, UINT16_MAX, out))
		*out = -2;
}

static void read_single_port(struct json_reader *reader, json_t *value, void *into)
{
	read_bind_port(reader, value, &((struct bind_draft *)into)->port);
}

static void read_port_start(struct json_reader *reader, json_t *value, void *into)
{
	read_bind_port(reader, value, &((struct bind_draft *)into)->start);
}

static void read_port_end(struct json_reader *reader, json_t *value, void *into)
{
	read_bind_port(reader, value, &((struct bind_draft *)into)->end);
}

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
		draft->bind->port_start = (uint16_t)draft->start;
		draft->bind->port_end = (uint16_t)draft->end;
	}
}

static void read_bind(struct json_reader *reader, json_t *value, struct bind_draft *draft)
{
	static const struct json_field fields[] = {
		{"ip", "an IPv4 or IPv6 address or CIDR prefix", read_bind_ip},
		{"proto", "tcp or udp", read_proto},
		{"port", NULL, read_single_port},
		{"port_start", NULL, read_port_start},
		{"port_end", NULL, read_port_end},
	};

	json_reader_object(reader, value, fields, COUNT(fields), draft);
	if (json_is_object(value))
		settle_ports(reader, draft);
}

static void read_binds(struct json_reader *reader, json_t *value, void *into)
{
	struct table_draft *draft = into;
	struct table *table = draft->table;
	size_t count = json_reader_array(reader, value, TABLE_MAX_BINDS);

	table->binds = calloc(count + 1, sizeof(*table->binds));
	if (!table->binds) {
		json_reader_error(reader, "out of memory");
		return;
	}
	table->bind_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct bind_draft bind = {draft, &table->binds[i], -1, -1, -1};
		size_t mark = json_reader_enter_index(reader, i);

		read_bind(reader, json_array_get(value, i), &bind);
		json_reader_leave(reader, mark);
	}
	if (draft->host_bits > TABLE_LINT_MAX)
		json_reader_warn(reader, "%zu more binds have bits set beyond the prefix length",
			draft->host_bits - TABLE_LINT_MAX);
}

static void read_name(struct json_reader *reader, json_t *value, void *into)
{
	struct table *table = ((struct table_draft *)into)->table;

	if (json_is_string(value) && json_string_length(value) == 0)
		return;
	if (!json_is_string(value) || !table_name_is_valid(json_string_value(value), json_string_length(value))) {
		json_reader_reject(reader, value, JSON_STRING, "a name: at most 255 bytes without control characters");
		return;
	}
	table->name = strdup(json_string_value(value));
	if (!table->name)
		json_reader_error(reader, "out of memory");
}

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Parses exactly 2 * `size` hex digits. */
static bool parse_hex(const char *text, uint8_t *bytes, size_t size)
{
	size_t digits = 0;

	for (; text && digits < 2 * size && hex_digit(text[digits]) >= 0; digits++)
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | hex_digit(text[digits]));
	return text && digits == 2 * size && text[digits] == '\0';
}

static void read_key(struct json_reader *reader, const json_t *value, uint8_t key[SIPHASH_KEY_SIZE])
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	const char *text = json_string_value(value);
	uint8_t parsed[SIPHASH_KEY_SIZE] = {0};

	if (!parse_hex(text, parsed, sizeof(parsed))) {
		json_reader_reject_secret(reader, value, "exactly 32 hex digits");
		return;
	}
	if (memcmp(parsed, zero, sizeof(zero)) == 0)
		json_reader_warn(reader, "'%s' is not a secret: make a key with `openssl rand -hex 16`", text);
	memcpy(key, parsed, sizeof(parsed));
}

static void read_hash_key(struct json_reader *reader, json_t *value, void *into)
{
	read_key(reader, value, ((struct table_draft *)into)->table->hash_key);
}

static void read_seed(struct json_reader *reader, json_t *value, void *into)
{
	read_key(reader, value, ((struct table_draft *)into)->table->seed);
}

static void read_hops(struct json_reader *reader, json_t *value, void *into)
{
	json_int_t hops;

	if (json_reader_integer(reader, value, TABLE_MIN_HOPS, TABLE_MAX_HOPS, &hops))
		((struct table_draft *)into)->table->hops = (uint8_t)hops;
}

static void read_balance(struct json_reader *reader, json_t *value, void *into)
{
	table_json_balance(reader, value, &((struct table_draft *)into)->table->balance);
}

static void read_previous(struct json_reader *reader, json_t *value, void *into)
{
	table_json_previous(reader, value, ((struct table_draft *)into)->table);
}

static void read_table_healthchecks(struct json_reader *reader, json_t *value, void *into)
{
	struct table_health_table *health = ((struct table_draft *)into)->health;

	table_json_health_defaults(reader, value, &health->timing, &health->http);
}

static void read_tables(struct json_reader *reader, json_t *value, void *into)
{
	static const struct json_field fields[] = {
		{"name", NULL, read_name},
		{"hash_key", "32 hex digits", read_hash_key},
		{"seed", "32 hex digits", read_seed},
		{"hops", NULL, read_hops},
		{"balance", NULL, read_balance},
		{"previous", NULL, read_previous},
		{"binds", "an array of binds", read_binds},
		{"backends", "an array of backends", read_backends},
		{"healthchecks", NULL, read_table_healthchecks},
	};
	struct table_set *set = ((struct file_draft *)into)->set;
	struct table_health *health = ((struct file_draft *)into)->health;
	size_t count = json_reader_array(reader, value, TABLE_MAX_TABLES);

	set->tables = calloc(count + 1, sizeof(*set->tables));
	health->tables = calloc(count + 1, sizeof(*health->tables));
	if (!set->tables || !health->tables) {
		json_reader_error(reader, "out of memory");
		return;
	}
	set->count = health->count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct table_draft draft = {.table = &set->tables[i], .health = &health->tables[i]};
		size_t mark = json_reader_enter_index(reader, i);

		draft.table->hops = TABLE_DEFAULT_HOPS;
		json_reader_object(reader, json_array_get(value, i), fields, COUNT(fields), &draft);
		json_reader_leave(reader, mark);
	}
}

static void read_file_healthchecks(struct json_reader *reader, json_t *value, void *into)
{
	struct table_health *health = ((struct file_draft *)into)->health;

	table_json_health_defaults(reader, value, &health->timing, &health->http);
}

static void read_replaces(struct json_reader *reader, json_t *value, void *into)
{
	uint64_t *replaces = &((struct file_draft *)into)->set->replaces;
	uint8_t parsed[sizeof(*replaces)] = {0};

	if (parse_hex(json_string_value(value), parsed, sizeof(parsed)))
		*replaces = load_be64(parsed);
	if (!*replaces)
		json_reader_reject(
			reader, value, JSON_STRING, "a fingerprint: 16 hex digits, as glb-director-cli show prints it");
}

static void read_root(struct json_reader *reader, json_t *root, struct table_document *document)
{
	static const struct json_field fields[] = {
		{"tables", "an array of tables", read_tables},
		{"healthchecks", NULL, read_file_healthchecks},
		{"replaces", NULL, read_replaces},
	};
	struct file_draft draft = {&document->set, &document->health};

	json_reader_object(reader, root, fields, COUNT(fields), &draft);
}

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

	read_root(&reader, root, document);
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
	char shown[JSON_READER_TEXT_MAX];
	json_error_t where;
	bool out_of_memory;
	json_t *root = json_parse(text, size, &where, &out_of_memory);

	*document = (struct table_document){0};
	if (out_of_memory) {
		faults_error(faults, NULL, "out of memory");
		return -ENOMEM;
	}
	if (!root && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		faults_error(faults, NULL,
			"begins with a byte order mark, which JSON does not have: save it as UTF-8 without one");
		return -EINVAL;
	}
	if (!root) {
		faults_error_at(faults,
			&(struct faults_place){.line = where.line, .has_column = true, .column = where.column},
			"not JSON: %s", json_reader_text(where.text, 120, shown));
		return -EINVAL;
	}
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

int table_json_parse(const char *text, size_t size, struct table_set *set, struct faults *faults)
{
	struct table_document document;
	int error = table_json_parse_document(text, size, &document, faults);

	*set = document.set;
	document.set = (struct table_set){0};
	table_document_free(&document);
	return error;
}
