/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/rollout/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "rollout/rollout_json.h"

#define ELECTION_MS 1500 /* in which the members of etcd mostly elect a leader */

bool session_open(struct session *session, const char *path)
{
	struct faults faults = {.file = path};

	*session = (struct session){.path = path};
	if (fleet_conf_read(path, &session->conf, &faults) == 0)
		session->etcd = etcd_open(&session->conf.etcd, &faults);
	cli_print_faults(&faults, FAULTS_ERRORS);
	return session->etcd;
}

/* Prints why etcd did not do what was asked. */
static bool failed(const struct session *session, const char *what, enum etcd_result result)
{
	const char *error = etcd_state(session->etcd)->error;

	if (session->quiet)
		return false;
	if (result == ETCD_DENIED)
		command_error(
			"%s: etcd does not let its user or certificate %s: %s: give its role the rights that docs/reference/rollout.md names",
			session->path, what, error);
	else if (result == ETCD_UNREACHABLE)
		command_error("%s: cannot %s: no endpoint of etcd replied: %s", session->path, what, error);
	else
		command_error("%s: cannot %s: etcd refused it: %s", session->path, what, error);
	return false;
}

bool session_each(struct session *session, const char *prefix, unsigned limit,
	void (*take)(void *data, const struct etcd_kv *kv), void *data)
{
	json_t *body = NULL, *range = etcd_range(prefix, prefix[strlen(prefix) - 1] == '/', limit);
	enum etcd_result result = etcd_ask(session->etcd, ETCD_RANGE, json_incref(range), &body);
	struct etcd_kv kv;

	if (result == ETCD_UNREACHABLE && strstr(etcd_state(session->etcd)->error, "etcdserver: ")) {
		usleep(1000 * ELECTION_MS); /* a member replied that it has no leader, or another one than before */
		result = etcd_ask(session->etcd, ETCD_RANGE, json_incref(range), &body);
	}
	json_decref(range);
	if (result != ETCD_DONE)
		return failed(session, "read the roll-out", result);
	for (size_t i = 0; etcd_range_kv(body, i, &kv); i++) {
		/* A key that is not text has none here. Agents do not see it either. */
		if (kv.key && strncmp(kv.key, prefix, strlen(prefix)) == 0)
			take(data, &kv);
		etcd_kv_free(&kv);
	}
	json_decref(body);
	return true;
}

/* A key, and where its value goes. */
struct single {
	char *text;
	uint64_t revision;
	const char *fault;
};

static void take_single(void *data, const struct etcd_kv *kv)
{
	struct single *single = data;

	single->text = kv->value ? strdup(kv->value) : NULL;
	single->revision = kv->mod_revision;
	single->fault = kv->fault;
}

char *session_text(struct session *session, const char *key, uint64_t *revision)
{
	struct single single = {0};

	if (session_each(session, key, 1, take_single, &single) && !single.text)
		command_error("%s: the key %s is not in etcd, or is not text", session->path, key);
	*revision = single.revision;
	return single.text;
}

static void take_director(void *data, const struct etcd_kv *kv)
{
	struct session *session = data;
	char folder[ROLLOUT_KEY_MAX];
	const char *name = kv->key + strlen(rollout_key(session->conf.prefix, folder, "directors/"));

	session->truncated = session->director_count == ROLLOUT_MAX_DIRECTORS;
	if (!session->truncated)
		rollout_parse_director(name, kv->value, &session->directors[session->director_count++]);
}

static void forget(struct session *session)
{
	free(session->table);
	free(session->leader);
	free(session->directors);
	rollout_free(&session->rollout);
	session->table = session->leader = NULL;
	session->directors = NULL;
	session->director_count = 0;
	session->puts_table = false;
	session->fault[0] = '\0';
}

bool session_read(struct session *session)
{
	struct single table = {0}, leader = {0}, rollout = {0};
	char key[ROLLOUT_KEY_MAX];
	bool read;

	forget(session);
	session->directors = alloc_zeroed(ROLLOUT_MAX_DIRECTORS, sizeof(*session->directors));
	read = session_each(session, rollout_key(session->conf.prefix, key, "rollout"), 1, take_single, &rollout) &&
	       session_each(session, rollout_key(session->conf.prefix, key, "table"), 1, take_single, &table) &&
	       session_each(session, rollout_key(session->conf.prefix, key, "leader"), 1, take_single, &leader) &&
	       session_each(session, rollout_key(session->conf.prefix, key, "directors/"), ROLLOUT_MAX_DIRECTORS + 1,
		       take_director, session);
	session->table = table.text;
	session->table_revision = table.revision;
	session->leader = leader.text;
	if (leader.text)
		text_mend(leader.text);
	session->rollout_revision = rollout.revision;
	if (rollout.fault)
		snprintf(session->fault, sizeof(session->fault), "%s", rollout.fault);
	else if (rollout.text)
		rollout_parse(rollout.text, rollout.revision, &session->rollout, session->fault);
	free(rollout.text);
	return read;
}

bool session_write(struct session *session, const struct rollout *document, json_t *operations, size_t size)
{
	char key[ROLLOUT_KEY_MAX], *text = rollout_text(document);
	json_t *compares = json_array(), *body = NULL;
	enum etcd_result result;
	bool written;

	if (!text)
		alloc_failed();
	rollout_key(session->conf.prefix, key, "rollout");
	json_array_append_new(compares, etcd_compare_revision(key, session->rollout_revision));
	json_array_append_new(operations, etcd_put(key, text, 0));
	rollout_key(session->conf.prefix, key, "table");
	json_array_append_new(compares, etcd_compare_revision(key, session->table_revision));
	if (session->puts_table)
		json_array_append_new(operations, etcd_put(key, session->table, 0));
	free(text);
	result = etcd_ask(session->etcd, ETCD_TXN, etcd_txn(compares, operations), &body);
	written = result == ETCD_DONE && etcd_txn_succeeded(body);
	session->wrote |= written;
	session->late = result == ETCD_DONE && !written;
	json_decref(body);
	if (result == ETCD_UNREACHABLE)
		command_error("%s: etcd may have written it or not: look at `rollout status`", session->path);
	if (result != ETCD_DONE)
		failed(session, "write the roll-out", result);
	if (result == ETCD_REFUSED && size)
		command_error(
			"%s: nothing is written; the tables of the plan have %zu bytes, and etcd takes 1572864 bytes in a transaction unless its --max-request-bytes says another number",
			session->path, size);
	return written;
}

struct rollout_view session_view(const struct session *session)
{
	return (struct rollout_view){.directors = session->directors,
		.count = session->director_count,
		.truncated = session->truncated,
		.table_revision = session->table_revision};
}

void session_close(struct session *session)
{
	forget(session);
	if (session->etcd)
		etcd_close(session->etcd);
	fleet_conf_free(&session->conf);
}
