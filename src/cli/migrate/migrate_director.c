/* SPDX-License-Identifier: BSD-3-Clause */
/* director.conf. Reads each value as GLB does: it ignores unknown keys, and booleans that are not JSON's
 * true or false. */
#include <inttypes.h>
#include <string.h>

#include "cli/migrate/migrate.h"
#include "common/text.h"
#include "director/conf/conf.h"

#define LCORE_NAME "lcore-"

static bool matches(const struct migration *migration)
{
	const json_t *root = migration->root;

	return json_object_get(root, "outbound_src_ip") || json_object_get(root, "outbound_gateway_mac") ||
	       json_object_get(root, "flow_paths") || json_object_get(root, "lcores");
}

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static void put_key(struct migration *migration, const char *key)
{
	const json_t *value = json_object_get(migration->root, key);

	if (!value)
		return;
	fprintf(migration->to, "%s = ", key);
	migrate_put_value(migration, key, value);
	fputs(";\n", migration->to);
}

/* A boolean that is true unless the file says false. */
static void put_switch(struct migration *migration, const char *key)
{
	const json_t *value = json_object_get(migration->root, key);

	if (!value)
		return;
	fprintf(migration->to, "%s = %s;\n", key, json_is_false(value) ? "false" : "true");
	if (!json_is_boolean(value))
		faults_warn(&migration->notes, key,
			"is written as true, because GLB reads everything but JSON's false as true");
}

static void put_fields(struct migration *migration, const char *key)
{
	const char *known[STEERING_FIELD_COUNT + 1] = {NULL};
	json_t *fields = json_object_get(migration->root, key);

	if (!fields)
		return;
	fprintf(migration->to, "%s = {", key);
	for (unsigned i = 0; i < STEERING_FIELD_COUNT; i++) {
		known[i] = steering_field_names[i];
		if (is_true(fields, known[i]))
			fprintf(migration->to, " %s = true;", known[i]);
	}
	fputs(" };\n", migration->to);
	migrate_note_unknown(migration, key, fields, known);
}

static void put_flow_paths(struct migration *migration)
{
	static const char *const names[] = {"rx_port", "rx_queue", "tx_port", "tx_queue", NULL};
	json_t *paths = json_object_get(migration->root, "flow_paths"), *path;
	char where[64];
	size_t i;

	if (!paths)
		return;
	fputs("flow_paths = (\n", migration->to);
	json_array_foreach(paths, i, path)
	{
		fputs("\t{", migration->to);
		for (int n = 0; names[n]; n++) {
			const json_t *value = json_object_get(path, names[n]);

			snprintf(where, sizeof(where), "flow_paths[%zu].%s", i, names[n]);
			fprintf(migration->to, " %s = %" JSON_INTEGER_FORMAT ";", names[n], json_integer_value(value));
			if (!json_is_integer(value))
				faults_warn(&migration->notes, where, "is written as 0, because GLB reads it as 0");
		}
		fprintf(migration->to, " }%s\n", i + 1 < json_array_size(paths) ? "," : "");
		snprintf(where, sizeof(where), "flow_paths[%zu]", i);
		migrate_note_unknown(migration, where, path, names);
	}
	fputs(");\n", migration->to);
}

/* Returns the number of lcores that work for the distributor `name`, "lcore-5". */
static unsigned count_workers(json_t *lcores, const char *name)
{
	unsigned workers = 0;
	const char *key;
	json_t *lcore;

	json_object_foreach(lcores, key, lcore)
	{
		const json_t *source = json_object_get(lcore, "work_source");
		char text[64];

		snprintf(text, sizeof(text), LCORE_NAME "%" JSON_INTEGER_FORMAT, json_integer_value(source));
		workers += is_true(lcore, "work") && json_is_integer(source) && strcmp(text, name) == 0;
	}
	return workers;
}

/* The packaged director.conf of GLB has another number than that of the workers. GLB starts, and a worker
 * gets nothing. */
static void put_workers(struct migration *migration, const char *where, json_t *lcore, unsigned workers)
{
	const json_t *number = json_object_get(lcore, "num_dist_workers");

	if (workers)
		fprintf(migration->to, " dist = true; num_dist_workers = %u;", workers);
	if (!workers)
		faults_warn(&migration->notes, where,
			"is no distributor any more, because no lcore works for it: it steers its packets itself");
	else if (json_integer_value(number) != workers)
		faults_warn(&migration->notes, where,
			"num_dist_workers is written as %u, the number of lcores that have it as work_source", workers);
}

static void put_lcore(struct migration *migration, json_t *lcores, const char *name, json_t *lcore)
{
	static const char *const known[] = {
		"rx", "tx", "dist", "work", "kni", "flow_paths", "num_dist_workers", "work_source", NULL};
	bool rx = is_true(lcore, "rx"), tx = is_true(lcore, "tx"), work = is_true(lcore, "work");
	json_t *indices = json_object_get(lcore, "flow_paths"), *index;
	char where[128], text[JSON_READER_TEXT_MAX];
	size_t i;

	snprintf(where, sizeof(where), "lcores.%.64s", name);
	migrate_note_unknown(migration, where, lcore, known);
	if (!rx && !tx && !work && !is_true(lcore, "dist")) {
		faults_warn(&migration->notes, where, "is left out: it has no work that exists here; its value is %s",
			migrate_value_text(lcore, text));
		return;
	}
	fprintf(migration->to, "\t%s = {%s%s", name, rx ? " rx = true;" : "", tx ? " tx = true;" : "");
	if (rx || tx) {
		fputs(" flow_paths = [", migration->to);
		json_array_foreach(indices, i, index)
		{
			fputs(i ? ", " : "", migration->to);
			migrate_put_value(migration, where, index);
		}
		fputs("];", migration->to);
	}
	if (is_true(lcore, "dist"))
		put_workers(migration, where, lcore, count_workers(lcores, name));
	if (work) {
		fputs(" work = true;", migration->to);
		if ((index = json_object_get(lcore, "work_source"))) {
			fputs(" work_source = ", migration->to);
			migrate_put_value(migration, where, index);
			fputc(';', migration->to);
		}
	}
	fputs(" };\n", migration->to);
}

static void put_lcores(struct migration *migration)
{
	json_t *lcores = json_object_get(migration->root, "lcores"), *lcore;
	char shown[JSON_READER_TEXT_MAX];
	const char *name;

	if (!lcores)
		return;
	fputs("lcores = {\n", migration->to);
	json_object_foreach(lcores, name, lcore)
	{
		size_t prefix = strlen(LCORE_NAME);

		if (strncmp(name, LCORE_NAME, prefix) == 0 && name[strspn(name + prefix, "0123456789") + prefix] == '\0')
			put_lcore(migration, lcores, name, lcore);
		else
			faults_warn(&migration->notes, "lcores", "'%s' is left out: GLB knows only lcore-N",
				json_reader_text(name, 64, shown));
	}
	fputs("};\n", migration->to);
}

static void put_exception_path(struct migration *migration)
{
	json_t *lcores = json_object_get(migration->root, "lcores"), *lcore;
	const char *name;
	bool kni = false;

	json_object_foreach(lcores, name, lcore) kni |= is_true(lcore, "kni");
	if (!kni)
		return;
	fputs("exception_path = \"tap\";\n", migration->to);
	faults_warn(&migration->notes, "kni",
		"exception_path = \"tap\" takes the place of KNI, which Linux and DPDK have removed: move the addresses of vglb_kniN to the new interface");
}

/* GLB does not look at MACs. With flow bifurcation, its frames have the MAC of the PF. */
static void put_accept_macs(struct migration *migration)
{
	fputs("accept_macs = \"any\";\n", migration->to);
	faults_warn(&migration->notes, "accept_macs",
		"\"any\" takes frames to every MAC: better name the MAC of the PF, or remove the key if the router sends to the MAC of the port");
}

/* Returns GLB's port, which may be text. 0: there is none, or it is no port. */
static uint32_t statsd_port(const struct migration *migration)
{
	const json_t *value = json_object_get(migration->root, "statsd_port");
	json_int_t number = json_integer_value(value);
	uint32_t port = 0;

	if (json_is_string(value))
		text_number(json_string_value(value), 1, UINT16_MAX, &port);
	return number > 0 && number <= UINT16_MAX ? (uint32_t)number : port;
}

/* GLB always sends to statsd on its own host. */
static void put_statsd(struct migration *migration)
{
	const json_t *value = json_object_get(migration->root, "statsd_port");
	uint32_t port = statsd_port(migration);
	char text[JSON_READER_TEXT_MAX];

	if (port) {
		fprintf(migration->to, "statsd = { port = %" PRIu32 "; };\n", port);
		faults_warn(&migration->notes, "statsd_port",
			"is written as statsd; the metrics have other names than those of GLB, so change dashboards and alerts. tags = true sends tags of DogStatsD");
	} else {
		faults_warn(&migration->notes, "statsd_port",
			"GLB always sends its metrics to statsd, this director only with statsd = { port = 8125; }%s%s",
			value ? "; this value of GLB is no port: " : "", value ? migrate_value_text(value, text) : "");
	}
}

static void note_lost(struct migration *migration)
{
	const json_t *address = json_object_get(migration->root, "kni_ip");
	char text[JSON_READER_TEXT_MAX];

	if (address)
		faults_warn(&migration->notes, "kni_ip",
			"%s is left out: give the address to the interface of exception_path with `ip address add`",
			migrate_value_text(address, text));
	if (json_object_get(migration->root, "lcores"))
		faults_warn(&migration->notes, "lcores",
			"flow_paths and lcores are kept; without both, each worker lcore polls queues of its own, which is faster");
}

static void convert(struct migration *migration)
{
	static const char *const known[] = {"outbound_gateway_mac", "outbound_src_ip", "forward_icmp_ping_responses",
		"num_worker_queues", "rx_drop_en", "flow_paths", "lcores", "hash_fields", "alt_hash_fields",
		"statsd_port", "kni_ip", NULL};

	fputs("# Converted from a director.conf of GitHub's GLB Director. glb-director.conf(5) has all keys.\n\n",
		migration->to);
	put_key(migration, "outbound_gateway_mac");
	put_key(migration, "outbound_src_ip");
	put_switch(migration, "forward_icmp_ping_responses");
	put_fields(migration, "hash_fields");
	put_fields(migration, "alt_hash_fields");
	put_accept_macs(migration);
	put_exception_path(migration);
	if (json_object_get(migration->root, "num_worker_queues"))
		put_key(migration, "num_worker_queues");
	else if (json_object_get(migration->root, "flow_paths"))
		fputs("num_worker_queues = 1;\n", migration->to); /* GLB's default */
	put_switch(migration, "rx_drop_en");
	put_flow_paths(migration);
	put_lcores(migration);
	put_statsd(migration);
	note_lost(migration);
	migrate_note_unknown(migration, NULL, migration->root, known);
}

static void read_result(const char *path, struct faults *faults)
{
	struct conf conf;

	conf_read(path, &conf, faults);
}

const struct migrate_kind migrate_director = {"director.conf", matches, convert, read_result, true};
