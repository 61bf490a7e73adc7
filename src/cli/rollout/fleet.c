/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommand fleet: a line for each director that is alive. */
#include <inttypes.h>
#include <string.h>

#include "cli/rollout/rollout_parts.h"
#include "program/installed.h"

enum { CONFIG, JSON };

static const struct command_option options[] = {
	[CONFIG] = {"config", "FILE", "fleet.conf", INSTALLED_FLEET_CONF},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* Returns how the director stands to the table in etcd. */
static const char *standing(const struct session *session, const struct rollout_director *director)
{
	const struct rollout *rollout = &session->rollout;
	bool is_active = *rollout->id && rollout_is_active(rollout);

	if (*director->fault)
		return "no record";
	if (is_active && rollout_is_without(rollout, director->name))
		return "without";
	if (director->refused && director->refused == session->table_revision)
		return "refused";
	if (is_active && rollout_is_canary(rollout) && strcmp(director->name, rollout->canary) == 0)
		return director->refused == rollout->plan_revision    ? "refused"
		       : director->revision == rollout->plan_revision ? "canary"
								      : "behind";
	return director->revision && director->revision == session->table_revision ? "current" : "behind";
}

static const char *detail(const struct rollout_director *director, const char *standing)
{
	if (*director->fault)
		return director->fault;
	return strcmp(standing, "refused") == 0 ? director->refusal : director->reasons;
}

static int print_json(const struct session *session)
{
	json_t *list = json_array();

	for (size_t i = 0; i < session->director_count; i++) {
		const struct rollout_director *director = &session->directors[i];
		const char *is = standing(session, director);

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:I, s:b, s:s, s:s, s:s}", "name", director->name, "standing",
				      is, "fingerprint", director->fingerprint, "revision",
				      (json_int_t)director->revision, "healthy", director->healthy, "version",
				      director->version, "changed", director->changed, "detail", detail(director, is)));
	}
	return cli_print_json(
		json_pack("{s:I, s:o}", "table_revision", (json_int_t)session->table_revision, "directors", list));
}

static void print_lines(const struct session *session)
{
	printf("%-24s %-16s %9s %-9s %-9s %-20s %s\n", "director", "table", "revision", "standing", "health",
		"last change", "version");
	for (size_t i = 0; i < session->director_count; i++) {
		const struct rollout_director *director = &session->directors[i];
		const char *is = standing(session, director), *why = detail(director, is);

		printf("%-24s %-16s %9" PRIu64 " %-9s %-9s %-20s %s\n", director->name,
			*director->fingerprint ? director->fingerprint : "none", director->revision, is,
			director->healthy ? "healthy" : "unhealthy", director->changed, director->version);
		if (*why)
			command_print(4, "    %s", why);
	}
	if (session->truncated)
		command_note("etcd has more than %d keys of directors; the others are not shown", ROLLOUT_MAX_DIRECTORS);
	printf("%zu director%s; the table in etcd has the revision %" PRIu64 "\n", session->director_count,
		text_plural(session->director_count), session->table_revision);
}

static int fleet_run(const struct command_args *args)
{
	struct session session;
	int code = COMMAND_FAILED;

	if (session_open(&session, args->values[CONFIG]) && session_read(&session)) {
		code = COMMAND_OK;
		if (args->options[JSON])
			code = print_json(&session);
		else
			print_lines(&session);
	}
	session_close(&session);
	return code;
}

const struct command fleet_command = {
	.name = "fleet",
	.run = fleet_run,
	.summary = "List the directors of the fleet in etcd, and the tables that they use",
	.options = options,
};
