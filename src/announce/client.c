/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands that operators use while the daemon runs: status, withdraw, announce. */
#include "announce/commands.h"

#include <string.h>

#include "announce/operator_switch.h"
#include "announce/status.h"
#include "common/clock.h"
#include "common/utc.h"
#include "program/member.h"
#include "program/status_file.h"

#define POLL_MS 50

enum { JSON = COMMANDS_OPTIONS };
enum { REASON = COMMANDS_OPTIONS, TIMEOUT };

static const struct command_option status_options[] = {
	COMMANDS_OPTION_LIST,
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

static const struct command_option withdraw_options[] = {
	COMMANDS_OPTION_LIST,
	[REASON] = {"reason", "TEXT", "the reason, for the log and for status"},
	[TIMEOUT] = {"timeout", "SECONDS", "seconds to wait until the VIPs are withdrawn", "10", 1, 3600},
	{0},
};

static void print_vip(const json_t *vip)
{
	const char *state = member_text(vip, "state"), *wish = member_text(vip, "wish");
	json_int_t since = member_number(vip, "since");
	char when[UTC_TEXT_MAX], other[32] = "";

	if (strcmp(wish, "unknown") == 0)
		snprintf(other, sizeof(other), ", not decided yet");
	else if (strcmp(state, wish) != 0)
		snprintf(other, sizeof(other), ", should be %s", wish);
	command_print(2, "%s%s: %s%s%s%s: %s", member_text(vip, "prefix"),
		json_is_true(json_object_get(vip, "probe")) ? " (probe)" : "", state, since ? " since " : "",
		since ? utc_strftime(since, UTC_PEOPLE, when) : "", other, member_text(vip, "reason"));
}

static void print_status(const json_t *status)
{
	const json_t *director = json_object_get(status, "director"), *operator= json_object_get(status, "operator");
	const json_t *driver = json_object_get(status, "driver"), *probe = json_object_get(status, "probe"), *vip;
	size_t i;

	command_print(2, "director: %s: %s", member_text(director, "state"), member_text(director, "reason"));
	if (json_is_object(operator)) {
		struct operator_switch state = {.since_s = (uint64_t)member_number(operator, "since")};
		char line[300];

		snprintf(state.by, sizeof(state.by), "%s", member_text(operator, "by"));
		snprintf(state.reason, sizeof(state.reason), "%s", member_text(operator, "reason"));
		command_print(2, "operator: %s", operator_switch_text(&state, line));
	}
	if (json_is_object(probe))
		command_print(2, "probe: %s: %s: %s", member_text(probe, "address"),
			json_is_true(json_object_get(probe, "proven")) ? "proven" : "not proven",
			member_text(probe, "reason"));
	if (*member_text(driver, "error"))
		command_print(2, "driver: %s: %s", member_text(driver, "file"), member_text(driver, "error"));
	json_array_foreach(json_object_get(status, "vips"), i, vip) print_vip(vip);
}

/* Returns how many VIPs there are, without the address of the probe, and in *in_state how many of them are in this
 * state. */
static size_t count_vips(const json_t *status, const char *state, size_t *in_state)
{
	size_t i, count = 0;
	const json_t *vip;

	*in_state = 0;
	json_array_foreach(json_object_get(status, "vips"), i, vip)
	{
		if (json_is_true(json_object_get(vip, "probe")))
			continue;
		count++;
		*in_state += strcmp(member_text(vip, "state"), state) == 0;
	}
	return count;
}

static bool all_are(const json_t *status, const char *state)
{
	size_t in_state;

	return count_vips(status, state, &in_state) == in_state;
}

static int run_status(const struct command_args *args)
{
	struct announce_conf conf;
	struct faults faults = {0};
	size_t announced;
	json_t *status = commands_read(args, &conf)
				 ? status_file_read("glb-announce", conf.status_file, STATUS_MAX, &faults)
				 : NULL;
	bool good = count_vips(status, "announced", &announced) && all_are(status, "announced") &&
		    !*member_text(json_object_get(status, "driver"), "error");

	if (status && args->options[JSON]) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		printf("\n");
	} else if (status) {
		print_status(status);
	}
	command_faults(&faults, FAULTS_ERRORS);
	json_decref(status);
	announce_conf_free(&conf);
	return good ? COMMAND_OK : COMMAND_FAILED;
}

/* Waits until the daemon has withdrawn all VIPs because of the switch. Returns the exit code. */
static int wait_withdrawn(const struct announce_conf *conf, unsigned timeout_s)
{
	uint64_t end = clock_now_ms() + timeout_s * UINT64_C(1000);
	bool done = false;

	if (!file_is_locked(conf->status_file)) {
		command_note(
			"glb-announce does not run, so it withdrew nothing now; it will announce nothing when it starts");
		return COMMAND_OK;
	}
	while (!done && clock_now_ms() < end) {
		struct faults faults = {0}; /* a daemon that has just started writes its status soon */
		json_t *status = status_file_read("glb-announce", conf->status_file, STATUS_MAX, &faults);

		done = json_is_object(json_object_get(status, "operator")) && all_are(status, "withdrawn");
		faults_clear(&faults);
		json_decref(status);
		if (!done)
			nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
	}
	if (done)
		return COMMAND_OK;
	return command_error("the VIPs are not withdrawn after %u s: glb-announce status tells why", timeout_s);
}

static int run_withdraw(const struct command_args *args)
{
	struct faults faults = {0};
	struct announce_conf conf;
	int code = COMMAND_FAILED;

	if (commands_read(args, &conf)) {
		faults.file = conf.switch_file;
		if (operator_switch_withdraw(conf.switch_file, args->options[REASON], &faults) == 0)
			code = wait_withdrawn(&conf, args->numbers[TIMEOUT]);
		else
			command_error("%s. To withdraw the VIPs without this file: systemctl stop glb-announce",
				faults_first_error(&faults));
	}
	faults_clear(&faults);
	announce_conf_free(&conf);
	return code;
}

static int run_announce(const struct command_args *args)
{
	struct faults faults = {0};
	struct announce_conf conf;
	int code = COMMAND_FAILED;

	if (commands_read(args, &conf) && operator_switch_announce(conf.switch_file, &faults) == 0)
		code = COMMAND_OK;
	command_faults(&faults, FAULTS_ERRORS);
	if (code == COMMAND_OK && !file_is_locked(conf.status_file))
		command_note("glb-announce does not run: systemctl start glb-announce");
	announce_conf_free(&conf);
	return code;
}

const struct command status_command = {
	.name = "status",
	.run = run_status,
	.summary = "Print which VIPs are announced, and why not",
	.options = status_options,
};

const struct command withdraw_command = {
	.name = "withdraw",
	.run = run_withdraw,
	.summary = "Withdraw all VIPs of this host, also after a restart, until they are announced again",
	.options = withdraw_options,
};

const struct command announce_command = {
	.name = "announce",
	.run = run_announce,
	.summary = "End what withdraw began: VIPs are announced as soon as the director forwards",
	.options = commands_options,
};
