/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of etcd for tests. Reads `etcd = {...}` from the file that is its argument, then a command per line from
 * stdin, and prints what happens as a JSON object per line.
 *
 *	put KEY VALUE | create KEY VALUE | swap KEY REVISION VALUE | delete KEY | get KEY | ask KEY
 *	mirror KEY MAX (KEY* for a prefix) | unmirror | lease SECONDS | id | end | state
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_reader.h"
#include "etcd/etcd.h"

struct tool_conf {
	struct etcd_conf etcd;
};

static const struct conf_key keys[] = {
	{"etcd", etcd_conf_read, .offset = offsetof(struct tool_conf, etcd), .keys = etcd_conf_keys, .required = "etcd"},
	{0},
};

static struct etcd *etcd;
static struct etcd_mirror *mirror;
static struct etcd_lease *lease;

static void say(json_t *line)
{
	json_dumpf(line, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	conf_read_group(reader, root, keys, reader->conf);
}

static void print_fault(void *unused, bool warning, const char *text)
{
	(void)unused;
	say(json_pack("{s:s, s:b, s:s}", "event", "fault", "warning", warning, "text", text));
}

static const char *name_of(enum etcd_result result)
{
	static const char *const names[] = {"done", "unreachable", "denied", "refused", "too large"};

	return names[result];
}

static void say_reply(const char *event, enum etcd_result result, const json_t *body)
{
	struct etcd_kv kv = {0};
	json_t *line = json_pack("{s:s, s:s, s:s, s:b}", "event", event, "result", name_of(result), "error",
		etcd_state(etcd)->error, "succeeded", etcd_txn_succeeded(body));

	if (etcd_range_kv(body, 0, &kv))
		json_object_set_new(line, "kv",
			json_pack("{s:s, s:s?, s:s?, s:I}", "key", kv.key, "value", kv.value, "fault", kv.fault,
				"revision", (json_int_t)kv.mod_revision));
	etcd_kv_free(&kv);
	say(line);
}

static void replied(void *data, enum etcd_result result, const json_t *body)
{
	say_reply(data, result, body);
}

static void changed(void *data, const struct etcd_kv *kv)
{
	(void)data;
	say(json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I}", "event", "changed", "key", kv->key, "value", kv->value,
		"fault", kv->fault, "revision", (json_int_t)kv->mod_revision, "lease", (json_int_t)kv->lease));
}

static void ready(void *data)
{
	(void)data;
	say(json_pack("{s:s, s:b}", "event", "ready", "truncated", etcd_mirror_truncated(mirror)));
}

static void say_new_lease(void)
{
	static uint64_t last;
	uint64_t id = lease ? etcd_lease_id(lease) : 0;

	if (id && id != last)
		say(json_pack("{s:s, s:I}", "event", "granted", "lease", (json_int_t)id));
	last = id ? id : last;
}

static void print_state(void)
{
	const struct etcd_state *state = etcd_state(etcd);

	say(json_pack("{s:s, s:b, s:s, s:s, s:I, s:I, s:b}", "event", "state", "connected", state->connected, "endpoint",
		state->endpoint, "error", mirror && *etcd_mirror_error(mirror) ? etcd_mirror_error(mirror) : state->error,
		"cluster", (json_int_t)state->cluster, "revision", (json_int_t)state->revision, "current",
		mirror && etcd_mirror_is_current(mirror)));
}

static void open_mirror(char *key, size_t max)
{
	static const struct etcd_mirror_calls calls = {.changed = changed, .ready = ready};
	bool prefix = key[strlen(key) - 1] == '*';

	if (prefix)
		key[strlen(key) - 1] = '\0';
	mirror = etcd_mirror_open(etcd, key, prefix, max, &calls, NULL);
}

static void transact(json_t *compare, json_t *operation)
{
	json_t *compares = compare ? json_pack("[o]", compare) : json_array();

	etcd_request(etcd, ETCD_TXN, etcd_txn(compares, json_pack("[o]", operation)), replied, "txn");
}

static void request(const char *command, const char *key, const char *second, const char *third)
{
	enum etcd_result result;
	json_t *body = NULL;

	if (strcmp(command, "put") == 0)
		transact(NULL, etcd_put(key, second, lease ? etcd_lease_id(lease) : 0));
	else if (strcmp(command, "create") == 0)
		transact(etcd_compare_revision(key, 0), etcd_put(key, second, lease ? etcd_lease_id(lease) : 0));
	else if (strcmp(command, "swap") == 0)
		transact(etcd_compare_revision(key, strtoull(second, NULL, 10)), etcd_put(key, third, 0));
	else if (strcmp(command, "delete") == 0)
		transact(NULL, etcd_delete(key));
	else if (strcmp(command, "get") == 0)
		etcd_request(etcd, ETCD_RANGE, etcd_range(key, false, 0), replied, "get");
	else if (strcmp(command, "ask") == 0)
		result = etcd_ask(etcd, ETCD_RANGE, etcd_range(key, false, 0), &body), say_reply("ask", result, body);
	else
		say(json_pack("{s:s}", "event", "unknown command"));
	json_decref(body);
}

static void run(char *line)
{
	char *save, *command = strtok_r(line, " \n", &save), *key = strtok_r(NULL, " \n", &save);
	char *second = strtok_r(NULL, " \n", &save), *third = strtok_r(NULL, " \n", &save);

	if (strcmp(command, "mirror") == 0) {
		open_mirror(key, strtoull(second, NULL, 10));
	} else if (strcmp(command, "unmirror") == 0) {
		etcd_mirror_close(mirror);
		mirror = NULL;
	} else if (strcmp(command, "lease") == 0) {
		lease = etcd_lease_open(etcd, (unsigned)strtoul(key, NULL, 10));
	} else if (strcmp(command, "id") == 0) {
		say(json_pack("{s:s, s:I}", "event", "id", "lease", (json_int_t)etcd_lease_id(lease)));
	} else if (strcmp(command, "end") == 0) {
		etcd_lease_end(lease);
		lease = NULL;
		say(json_pack("{s:s}", "event", "ended"));
	} else if (strcmp(command, "state") == 0) {
		print_state();
	} else {
		request(command, key, second, third);
	}
}

/* stdin has no buffer of its own here, because etcd_run() waits for its descriptor. */
static bool read_line(char *line, size_t size)
{
	size_t length = 0;

	while (length + 1 < size && read(0, line + length, 1) == 1)
		if (line[length++] == '\n') {
			line[length] = '\0';
			return true;
		}
	return false;
}

static bool has_input(void)
{
	fd_set set;
	struct timeval now = {0};

	FD_ZERO(&set);
	FD_SET(0, &set);
	return select(1, &set, NULL, NULL, &now) == 1;
}

int main(int argc, char **argv)
{
	static char line[4 << 20];
	struct tool_conf conf = {0};
	struct faults faults = {.file = argv[1], .thorough = true};
	struct conf_reader reader = {.conf = &conf, .faults = &faults};

	if (argc != 2)
		return 2;
	if (conf_read_file(argv[1], &reader, read_root) == 0)
		etcd = etcd_open(&conf.etcd, &faults);
	faults_report(&faults, FAULTS_ALL, print_fault, NULL);
	faults_clear(&faults);
	if (etcd)
		say(json_pack("{s:s}", "event", "open"));
	while (etcd) {
		if (has_input() && !read_line(line, sizeof(line)))
			break;
		if (*line)
			run(line);
		*line = '\0';
		etcd_run(etcd, 0, 1000);
		say_new_lease();
	}
	if (mirror)
		etcd_mirror_close(mirror);
	if (etcd)
		etcd_close(etcd);
	free(lease);
	etcd_conf_free(&conf.etcd);
	return etcd ? 0 : 1;
}
