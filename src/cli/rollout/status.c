/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/rollout/rollout_parts.h"
#include "common/clock.h"
#include "rollout/rollout_json.h"

#define POLL_MS      500
#define MAX_FAILURES 20 /* to read from etcd, one after the other */

/* Returns what the roll-out waits for, or why it does not run. */
static const char *describe(const struct session *session, char reason[ROLLOUT_REASON_MAX])
{
	const struct rollout *rollout = &session->rollout;
	struct rollout_view view = session_view(session);

	if (rollout->state != ROLLOUT_RUNNING)
		return rollout->reason;
	if (!session->leader)
		return "waits for a glb-fleet that leads, which takes up to 20 s";
	view.phase_ms = UINT64_C(1000) * rollout->counted_s;
	if (rollout_judge(rollout, &view, reason) == ROLLOUT_KEEP && rollout_asks_proxies(rollout) && *rollout->reason)
		return rollout->reason; /* the leader has asked the proxies */
	return reason;
}

static unsigned count_users(const struct session *session)
{
	const struct rollout *rollout = &session->rollout;
	unsigned users = 0;

	for (size_t i = 0; i < session->director_count; i++)
		users += session->directors[i].revision ==
			 rollout_revision_of(rollout, rollout->canary); /* of the step, which a canary uses alone */
	return users;
}

static void print_line(const struct session *session)
{
	const struct rollout *rollout = &session->rollout;
	char reason[ROLLOUT_REASON_MAX];
	const char *why = describe(session, reason);

	command_print(2, "roll-out %s: %s, step %" PRIu32 " of %" PRIu32 " (%s), used by %u of %zu directors%s%s",
		rollout->id, rollout_state_name(rollout->state), rollout->step, rollout->count - 1,
		rollout->steps[rollout->step].kind, count_users(session), session->director_count, *why ? ": " : "", why);
}

static int code_of(const struct rollout *rollout)
{
	return rollout->state == ROLLOUT_DONE ? COMMAND_OK : COMMAND_FAILED;
}

/* Returns a number that differs when there is something new to print. */
static uint64_t news_of(const struct session *session)
{
	return session->rollout_revision * 4096 + count_users(session) + (session->leader ? 2048 : 0);
}

int rollout_follow(struct session *session, const struct rollout_terms *terms)
{
	char id[ROLLOUT_ID_MAX] = "";
	unsigned failures = 0;
	uint64_t news = 0;

	while (failures < MAX_FAILURES) {
		bool read = session_read(session);

		failures = read ? 0 : failures + 1;
		if (read && !*session->rollout.id)
			return command_error("rollout: the roll-out vanished from etcd");
		if (read && *id && strcmp(id, session->rollout.id) != 0)
			return command_error("rollout: %s has ended, and %s followed: look at `rollout history`", id,
				session->rollout.id);
		if (read)
			strcpy(id, session->rollout.id);
		if (read && news_of(session) != news) {
			print_line(session);
			fflush(stdout);
			news = news_of(session);
		}
		if (read && session->rollout.state != ROLLOUT_RUNNING &&
			!(terms->waits && session->rollout.state == ROLLOUT_PAUSED))
			return code_of(&session->rollout);
		if (terms->end_ms && clock_now_ms() >= terms->end_ms) {
			command_error(
				"rollout: --timeout is over, and the roll-out goes on: `rollout status --watch` follows it again");
			return CLI_TIMEOUT;
		}
		usleep(1000 * POLL_MS);
	}
	return command_error(
		"rollout: the roll-out goes on without this command: `rollout status --watch` follows it again");
}

static int show_json(const struct session *session)
{
	char reason[ROLLOUT_REASON_MAX] = "";
	bool is = *session->rollout.id;

	return cli_print_json(json_pack("{s:o, s:s?, s:s, s:I, s:i, s:i}", "rollout",
		is ? rollout_json(&session->rollout) : json_null(), "leader", session->leader, "waits_for",
		is ? describe(session, reason) : session->fault, "table_revision", (json_int_t)session->table_revision,
		"directors", (int)session->director_count, "directors_on_step", is ? (int)count_users(session) : 0));
}

int rollout_show(struct session *session, const struct rollout_terms *terms, bool watch, bool json)
{
	const struct rollout *rollout = &session->rollout;

	if (json)
		return show_json(session);
	if (*session->fault)
		return command_error("rollout: this version cannot read the roll-out in etcd: %s", session->fault);
	if (!*rollout->id) {
		puts("there was no roll-out yet");
		return COMMAND_OK;
	}
	if (watch)
		return rollout_follow(session, terms);
	print_line(session);
	printf("  began %s by %s; leader: %s\n", rollout->began, rollout->by, session->leader ? session->leader : "none");
	if (*rollout->takes_back)
		printf("  takes back the roll-out %s\n", rollout->takes_back);
	for (size_t i = 0; i < rollout->without_count; i++)
		printf("  without %s\n", rollout->without[i]);
	for (uint32_t i = 0; i < rollout->count; i++)
		printf("  %s step %" PRIu32 " %-9s %" PRIu32 " rows break, wait: %s\n", i == rollout->step ? "->" : "  ",
			i, rollout->steps[i].kind, rollout->steps[i].broken, rollout_wait_name(rollout->steps[i].wait));
	return COMMAND_OK;
}

static void take_ended(void *data, const struct etcd_kv *kv)
{
	char fault[ROLLOUT_REASON_MAX] = "";
	struct rollout rollout;

	if (!kv->value || !rollout_parse(kv->value, kv->mod_revision, &rollout, fault))
		return;
	if (data)
		json_array_append_new(data, rollout_json(&rollout));
	else
		command_print(2, "%s %-8s step %" PRIu32 " of %" PRIu32 ", by %s%s%s%s%s", rollout.id,
			rollout_state_name(rollout.state), rollout.step, rollout.count - 1, rollout.by,
			*rollout.takes_back ? ", takes back " : "", rollout.takes_back, *rollout.reason ? ": " : "",
			rollout.reason);
	rollout_free(&rollout);
}

int rollout_history(struct session *session, bool json)
{
	json_t *list = json ? json_array() : NULL;
	char key[ROLLOUT_KEY_MAX];

	if (!session_each(session, rollout_key(session->conf.prefix, key, "history/"), 0, take_ended, list)) {
		json_decref(list);
		return COMMAND_FAILED;
	}
	return json ? cli_print_json(json_pack("{s:o}", "history", list)) : COMMAND_OK;
}
