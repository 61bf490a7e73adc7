/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json_past.h"

#include <stdlib.h>
#include <time.h>

#include "common/utc.h"
#include "table/file/json/json_twins.h"

/* Clocks of hosts may differ by this much. */
#define CLOCK_ERROR_S 300

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void table_json_balance(struct json_reader *reader, const json_t *value, uint16_t *balance)
{
	double number = json_number_value(value), thousandths = number * 1000 + 0.5;

	if (thousandths >= TABLE_MIN_BALANCE && thousandths < TABLE_MAX_BALANCE + 1) {
		*balance = (uint16_t)thousandths;
		/* Both sides are the double next to the decimal number. */
		if (*balance / 1000.0 == number)
			return;
		*balance = 0;
	}
	json_reader_reject(reader, value, json_is_integer(value) ? JSON_INTEGER : JSON_REAL,
		"a number from 1.005 to 2 with at most 3 decimals");
}

static void read_time(struct json_reader *reader, json_t *value, void *into)
{
	int64_t *unix_s = &((struct table_past *)into)->time;

	if (!json_is_string(value) || !utc_parse(json_string_value(value), unix_s))
		json_reader_reject(reader, value, JSON_STRING, "a time in UTC like 2026-01-01T00:00:00Z");
	else if (reader->faults->thorough && *unix_s > (int64_t)time(NULL) + CLOCK_ERROR_S)
		json_reader_warn(reader, "'%s' is in the future: compare the clocks of the hosts that edit tables",
			json_string_value(value));
}

static void read_balance(struct json_reader *reader, json_t *value, void *into)
{
	table_json_balance(reader, value, &((struct table_past *)into)->balance);
}

static void read_ip(struct json_reader *reader, json_t *value, void *into)
{
	struct table_past_backend *backend = into;
	struct netaddr addr;

	if (json_is_string(value) && netaddr_parse(json_string_value(value), &addr) && addr.family == NETADDR_V4)
		backend->addr = addr;
	else
		json_reader_reject(reader, value, JSON_STRING, "an IPv4 address");
}

static void read_weight(struct json_reader *reader, json_t *value, void *into)
{
	json_int_t weight;

	if (json_reader_integer(reader, value, 1, TABLE_MAX_WEIGHT, &weight))
		((struct table_past_backend *)into)->weight = (uint16_t)weight;
}

static void read_backends(struct json_reader *reader, json_t *value, void *into)
{
	static const struct json_field fields[] = {
		{"ip", "an IPv4 address", read_ip},
		{"weight", NULL, read_weight},
	};
	struct table_past *past = into;
	size_t count = json_reader_array(reader, value, TABLE_MAX_BACKENDS);

	past->backends = calloc(count + 1, sizeof(*past->backends));
	if (!past->backends) {
		json_reader_error(reader, "out of memory");
		return;
	}
	past->backend_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		size_t mark = json_reader_enter_index(reader, i);

		past->backends[i].weight = TABLE_DEFAULT_WEIGHT;
		json_reader_object(reader, json_array_get(value, i), fields, COUNT(fields), &past->backends[i]);
		json_reader_leave(reader, mark);
	}
	json_twins_check(reader, &past->backends->addr, sizeof(*past->backends), past->backend_count);
}

void table_json_previous(struct json_reader *reader, const json_t *value, struct table *table)
{
	static const struct json_field fields[] = {
		{"time", "the time when a newer state replaced this one, like 2026-01-01T00:00:00Z", read_time},
		{"balance", NULL, read_balance},
		{"backends", "an array of the backends that could be first hops", read_backends},
	};
	size_t count = json_reader_array(reader, value, TABLE_MAX_PAST);

	table->past = calloc(count + 1, sizeof(*table->past));
	if (!table->past) {
		json_reader_error(reader, "out of memory");
		return;
	}
	table->past_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		size_t mark = json_reader_enter_index(reader, i);

		json_reader_object(reader, json_array_get(value, i), fields, COUNT(fields), &table->past[i]);
		json_reader_leave(reader, mark);
	}
}
