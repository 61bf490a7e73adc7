/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/rollout/rollout_parts.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "program/installed.h"
#include "rollout/rollout_json.h"
#include "table/file/table_load.h"

#define MAX_WAIT_S (30 * 86400)
#define MAX_TRIES  5

static const struct command_option options[] = {
	[ROLLOUT_CONFIG] = {"config", "FILE", "fleet.conf", INSTALLED_FLEET_CONF},
	[ROLLOUT_FROM] = {"from", "DIR", "start: roll out the steps that `plan --write DIR` wrote, instead of a new plan"},
	[ROLLOUT_MAX_BROKEN] = {"max-broken", "PCT",
		"start, abort: accept a plan that breaks up to PCT % of all rows (default: 0)"},
	[ROLLOUT_WITHOUT] = {"without", "NAMES",
		"start, resume, abort: these directors, with commas between them, do not count"},
	[ROLLOUT_DRAINED_AFTER] = {"drained-after", "TIME",
		"start, abort: where the plan waits for connections to end, go on after TIME, such as 2h, instead of pausing until resume"},
	[ROLLOUT_PROXIES] = {"proxies", "FILE",
		"start, abort: the metrics of the proxies in FILE prove that those that leave have no connections"},
	[ROLLOUT_IS_DRAINED] = {"drained", NULL, "resume: go on, although these proxies have not proved it"},
	[ROLLOUT_CANARY_NAME] = {"canary", "NAME", "start: director NAME uses the first step before the others do"},
	[ROLLOUT_CANARY_WAIT] = {"canary-wait", "TIME", "start: how long the canary must stay healthy alone", "5m"},
	[ROLLOUT_STEP_LIMIT] = {"step-limit", "TIME",
		"start, abort: stop if a director does not use a step in this time", "5m"},
	[ROLLOUT_STAY] = {"stay", NULL, "abort: leave the table in use that is in use now"},
	[ROLLOUT_DETACH] = {"detach", NULL, "start, resume, abort: do not follow the roll-out"},
	[ROLLOUT_WAIT] = {"wait", NULL,
		"wait while a roll-out is paused, too; start: also until an earlier one has ended"},
	[ROLLOUT_TIMEOUT] = {"timeout", "TIME", "follow for at most TIME, such as 30m; the roll-out goes on"},
	[ROLLOUT_WATCH] = {"watch", NULL, "status: follow the roll-out"},
	[ROLLOUT_JSON] = {"json", NULL, "status, history: print JSON"},
	{0},
};

void rollout_sign(struct rollout *rollout)
{
	const struct passwd *user = getpwuid(getuid());
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(rollout->by, sizeof(rollout->by), "%.60s@%.60s", user ? user->pw_name : "?", host);
	text_mend(rollout->by);
}

bool rollout_leave_out(struct rollout *rollout, const char *names)
{
	char name[ROLLOUT_NAME_MAX + 1];

	for (const char *at = names; at && *at; at += *at == ',') {
		size_t size = strcspn(at, ",");

		snprintf(name, sizeof(name), "%.*s", (int)size, at);
		at += size;
		if (!rollout_is_name(name) || !rollout_add_without(rollout, name)) {
			command_usage("rollout: --without: '%s' is not the name of a director", name);
			return false;
		}
	}
	return true;
}

/* Reads an option that is a time; one that is not given changes nothing. */
static bool read_time(const struct command_args *args, unsigned option, const char *example, uint32_t *seconds)
{
	const char *text = args->values[option];

	if (!text || text_duration(text, MAX_WAIT_S, seconds))
		return true;
	command_usage(
		"rollout: --%s: '%s' is not a time from 1s to 30d, such as %s", options[option].name, text, example);
	return false;
}

static int read_terms(const struct command_args *args, struct rollout_terms *terms)
{
	const char *broken = args->options[ROLLOUT_MAX_BROKEN];
	uint32_t timeout_s = 0;

	*terms = (struct rollout_terms){.without = args->options[ROLLOUT_WITHOUT],
		.waits = args->options[ROLLOUT_WAIT],
		.proxies = args->options[ROLLOUT_PROXIES]};
	if (broken && !text_percent(broken, &terms->max_broken))
		return command_usage(
			"rollout: --max-broken: '%s' is not a percentage from 0 to 100, such as 5 or 0.25", broken);
	if (strcmp(args->operands[0], "start") == 0)
		terms->canary = args->options[ROLLOUT_CANARY_NAME];
	if (!read_time(args, ROLLOUT_CANARY_WAIT, "5m", &terms->canary_s) ||
		!read_time(args, ROLLOUT_DRAINED_AFTER, "2h", &terms->wait_s) ||
		!read_time(args, ROLLOUT_STEP_LIMIT, "5m", &terms->limit_s) ||
		!read_time(args, ROLLOUT_TIMEOUT, "30m", &timeout_s))
		return COMMAND_USAGE;
	if (timeout_s)
		terms->end_ms = clock_now_ms() + UINT64_C(1000) * timeout_s;
	return COMMAND_OK;
}

/* Returns true if there is a roll-out that is neither done nor aborted; otherwise prints an error. */
static bool is_active(const struct session *session, const char *action)
{
	if (*session->fault)
		command_error("rollout: this version cannot read the roll-out in etcd: %s", session->fault);
	else if (!*session->rollout.id)
		command_error("rollout: %s: there was no roll-out yet", action);
	else if (!rollout_is_active(&session->rollout))
		command_error("rollout: %s: no roll-out is active: %s is %s", action, session->rollout.id,
			rollout_state_name(session->rollout.state));
	else
		return true;
	return false;
}

static int start_from(struct session *session, const char *dir, struct rollout_terms terms)
{
	struct approved approved;
	int code = COMMAND_FAILED;

	terms.approved = &approved;
	if (approved_read(&approved, dir))
		code = rollout_begin(session, dir, approved.texts[approved.count - 1], NULL, &terms);
	approved_free(&approved);
	return code;
}

static int start(struct session *session, const struct command_args *args, const struct rollout_terms *terms)
{
	const char *dir = args->options[ROLLOUT_FROM], *path = args->count < 2 ? NULL : args->operands[1];
	const struct rollout *active = &session->rollout;
	struct faults faults = {.file = path};
	char *text;
	size_t size;
	int code;

	if (!path == !dir)
		return command_usage("rollout: start: name either the table WANTED.json, or --from DIR");
	while (terms->waits && *active->id && active->state <= ROLLOUT_PAUSED) {
		code = rollout_follow(session, terms);
		if (code == CLI_TIMEOUT || !*active->id)
			return command_error("rollout: start: nothing is written"), code;
	}
	if (*active->id && rollout_is_active(active))
		return command_error(
			"rollout: start: the roll-out %s is %s: wait until it is done, or `rollout abort` it first",
			active->id, rollout_state_name(active->state));
	if (*session->fault)
		return command_error(
			"rollout: start: this version cannot read the roll-out in etcd, which may be active: %s; use the version that wrote it, or delete %s/rollout",
			session->fault, session->conf.prefix);
	if (dir)
		return start_from(session, dir, *terms);
	if (table_load_text(path, &text, &size, &faults) < 0)
		return cli_print_faults(&faults, FAULTS_ERRORS);
	if (strlen(text) != size)
		code = command_error("%s: is not JSON: it has a NUL byte", path);
	else
		code = rollout_begin(session, path, text, NULL, terms);
	free(text);
	return code;
}

static int pause_it(struct session *session)
{
	struct rollout *rollout = &session->rollout;

	if (!is_active(session, "pause"))
		return COMMAND_FAILED;
	if (rollout->state != ROLLOUT_RUNNING)
		return command_error("rollout: pause: %s is %s already: %s", rollout->id,
			rollout_state_name(rollout->state), rollout->reason);
	rollout_sign(rollout);
	rollout->state = ROLLOUT_PAUSED;
	snprintf(rollout->reason, sizeof(rollout->reason), "%s paused it", rollout->by);
	return session_write(session, rollout, json_array(), 0) ? COMMAND_OK : COMMAND_FAILED;
}

/* The table is not the one of the step. Puts that one back if no director uses another. */
static bool put_back(struct session *session, json_t *operations)
{
	struct rollout *rollout = &session->rollout;
	char key[ROLLOUT_KEY_MAX], *text;
	uint64_t revision;

	for (size_t i = 0; i < session->director_count; i++) {
		const struct rollout_director *director = &session->directors[i];

		if (!session->table_revision || director->revision != session->table_revision ||
			rollout_is_without(rollout, director->name))
			continue;
		command_error(
			"rollout: resume: director %s uses the table that somebody put beside the roll-out: end it with `rollout abort --stay`, and start another one",
			director->name);
		return false;
	}
	text = session_text(session,
		rollout_key(session->conf.prefix, key, "rollouts/%s/%u", rollout->id,
			(unsigned)rollout->step - rollout_is_canary(rollout)),
		&revision);
	if (text && revision == rollout->plan_revision) {
		json_array_append_new(operations, etcd_put(rollout_key(session->conf.prefix, key, "table"), text, 0));
		rollout->table_revision = 0;
		command_note("the table in etcd is not that of step %u, which is put back", (unsigned)rollout->step);
	} else if (text) {
		command_error("rollout: resume: somebody changed %s: `rollout abort --stay` ends the roll-out", key);
		free(text);
		return false;
	}
	free(text);
	return text;
}

static int resume(struct session *session, const struct rollout_terms *terms, bool is_drained)
{
	struct rollout *rollout = &session->rollout;
	json_t *operations;

	if (!is_active(session, "resume"))
		return COMMAND_FAILED;
	if (is_drained && !(rollout_asks_proxies(rollout) && rollout->state != ROLLOUT_STOPPED))
		return command_error("rollout: resume: --drained: %s does not wait for proxies now", rollout->id);
	if (rollout->state == ROLLOUT_RUNNING && !terms->without && !is_drained)
		return command_error("rollout: resume: %s is running already", rollout->id);
	if (!rollout_leave_out(rollout, terms->without))
		return COMMAND_USAGE;
	if (rollout_asks(rollout))
		printf("takes for proved: %s\n", rollout->reason);
	rollout_resume(rollout);
	rollout->proved |= is_drained;
	operations = json_array();
	if (session->table_revision != rollout->table_revision && !put_back(session, operations)) {
		json_decref(operations);
		return COMMAND_FAILED;
	}
	return session_write(session, rollout, operations, 0) ? COMMAND_OK : COMMAND_FAILED;
}

/* Returns true if a director that counts refuses the step, so that the way back cannot begin with this step. */
static bool is_refused(const struct session *session)
{
	const struct rollout *rollout = &session->rollout;

	for (size_t i = 0; i < session->director_count && session->table_revision == rollout->table_revision; i++)
		if (session->directors[i].refused == rollout->table_revision &&
			!rollout_is_without(rollout, session->directors[i].name))
			return true;
	return false;
}

/* The way back begins with the step before, which is safe for directors that use this one. False: after an error. */
static bool take_step_back(struct session *session)
{
	const struct rollout *rollout = &session->rollout;
	unsigned before = rollout->step - 1 - (rollout->steps[rollout->step - 1].wait == ROLLOUT_CANARY);
	char key[ROLLOUT_KEY_MAX], *text;
	uint64_t revision;

	text = session_text(
		session, rollout_key(session->conf.prefix, key, "rollouts/%s/%u", rollout->id, before), &revision);
	if (!text)
		return false;
	free(session->table);
	session->table = text;
	session->puts_table = true;
	if (revision != rollout->plan_revision)
		command_error("rollout: abort: somebody changed %s: end the roll-out with --stay", key);
	else
		command_note("a director refuses step %u, so the way back begins with step %u", (unsigned)rollout->step,
			before);
	return revision == rollout->plan_revision;
}

/* Ends the roll-out where it is. */
static int stay(struct session *session)
{
	struct rollout *rollout = &session->rollout;
	json_t *operations = json_array();

	rollout->state = ROLLOUT_ABORTED;
	rollout_sign(rollout);
	snprintf(rollout->reason, sizeof(rollout->reason), "%s aborted it; the table %s", rollout->by,
		session->puts_table ? "before is put back" : "stays");
	rollout_add_end(session, rollout, operations);
	if (!session_write(session, rollout, operations, 0))
		return COMMAND_FAILED;
	printf("roll-out %s is aborted; the table in etcd %s\n", rollout->id,
		session->puts_table ? "is the one before" : "stays as it is");
	return COMMAND_OK;
}

static int abort_it(struct session *session, const struct command_args *args, const struct rollout_terms *terms)
{
	struct rollout *rollout = &session->rollout;
	char key[ROLLOUT_KEY_MAX], *text;
	uint64_t revision;
	int code;

	if (!is_active(session, "abort"))
		return COMMAND_FAILED;
	if (args->options[ROLLOUT_STAY])
		return stay(session);
	if (*rollout->takes_back)
		return command_error(
			"rollout: abort: %s already takes %s back: let it go on, or end it where it is with --stay",
			rollout->id, rollout->takes_back);
	if (rollout->step == 0)
		return stay(session);
	/* A plan takes time, in which no step shall be published. */
	if (rollout->state == ROLLOUT_RUNNING && (pause_it(session) != COMMAND_OK || !session_read(session)))
		return COMMAND_FAILED;
	if (is_refused(session) && !take_step_back(session))
		return COMMAND_FAILED;
	text = session_text(session, rollout_key(session->conf.prefix, key, "rollouts/%s/0", rollout->id), &revision);
	if (!text)
		return COMMAND_FAILED;
	if (revision != rollout->plan_revision)
		code = command_error("rollout: abort: somebody changed %s: end the roll-out with --stay", key);
	else if (session->table && strcmp(session->table, text) == 0)
		code = stay(session);
	else {
		rollout_sign(rollout);
		snprintf(rollout->reason, sizeof(rollout->reason), "%s aborted it", rollout->by);
		code = rollout_begin(session, "the table before", text, rollout, terms);
	}
	free(text);
	return code;
}

void rollout_offer_actions(void)
{
	static const char *const actions[] = {"start", "status", "pause", "resume", "abort", "history"};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		command_offer(actions[i], NULL);
}

/* The leader may write at any time. To pause or to abort is right whatever it has written, so that is tried again. */
static int end_it(struct session *session, const struct command_args *args, const struct rollout_terms *terms)
{
	unsigned tries = 0;
	int code;

	do
		code = strcmp(args->operands[0], "pause") == 0 ? pause_it(session) : abort_it(session, args, terms);
	while (session->late && ++tries < MAX_TRIES && session_read(session));
	return code;
}

static int act(struct session *session, const struct command_args *args, const struct rollout_terms *terms)
{
	const char *action = args->operands[0];
	bool json = args->options[ROLLOUT_JSON];
	int code;

	if (strcmp(action, "status") == 0)
		return rollout_show(session, terms, args->options[ROLLOUT_WATCH], json);
	if (strcmp(action, "history") == 0)
		return rollout_history(session, json);
	if (strcmp(action, "pause") == 0) {
		code = end_it(session, args, terms);
		return code == COMMAND_OK && session_read(session) ? rollout_show(session, terms, false, false) : code;
	}
	if (strcmp(action, "start") == 0)
		code = start(session, args, terms);
	else if (strcmp(action, "resume") == 0)
		code = resume(session, terms, args->options[ROLLOUT_IS_DRAINED]);
	else if (strcmp(action, "abort") == 0)
		code = end_it(session, args, terms);
	else
		return command_usage("rollout: '%s' is none of start, status, pause, resume, abort, history", action);
	return code == COMMAND_OK && session->wrote && !args->options[ROLLOUT_DETACH] ? rollout_follow(session, terms)
										      : code;
}

static int rollout_run(const struct command_args *args)
{
	struct rollout_terms terms;
	struct session session;
	int code = read_terms(args, &terms);

	if (code != COMMAND_OK)
		return code;
	code = COMMAND_FAILED;
	if (session_open(&session, args->values[ROLLOUT_CONFIG]) && session_read(&session))
		code = act(&session, args, &terms);
	if (session.late)
		command_error(
			"%s: the roll-out or the table changed in etcd meanwhile, so nothing is written: look at `rollout status`, and try again",
			session.path);
	session_close(&session);
	return code;
}

const struct command rollout_command = {
	.name = "rollout",
	.run = rollout_run,
	.operands = "ACTION [WANTED.json]",
	.summary = "Change the table of a whole fleet in etcd, step by step",
	.options = options,
	.note = "ACTION is one of:\n"
		"  start    plan the way from the table in etcd to WANTED.json, write the plan\n"
		"           to etcd, and follow it; --from has a plan\n"
		"  status   show the roll-out\n"
		"  pause    publish no further step until resume\n"
		"  resume   go on after a pause or a stop; a wait that paused it is proved\n"
		"  abort    plan the way back to the table before, and roll that out\n"
		"  history  list the roll-outs that have ended",
};
