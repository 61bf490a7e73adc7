/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the proxies that leave whether they have connections. It happens in a child process, because their metrics may
 * be slow or endless: the roll-out then waits, and nothing else does.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/fleet/proxies.h"
#include "common/text.h"
#include "fleet/leader_parts.h"
#include "program/command.h"
#include "program/member.h"

#define ASK_MS   5000 /* from a reply to the next question */
#define CHILD_MS 300000u /* each proxy must also count anew, which takes a minute at most */
#define PAGE_S   3

/* Reads the VIPs of a group into a table that has nothing else. */
static bool read_vips(const json_t *list, struct table *table)
{
	const char *text;
	json_t *value;
	size_t i;

	table->binds = calloc(json_array_size(list) + 1, sizeof(*table->binds));
	json_array_foreach(list, i, value)
	{
		text = json_string_value(value);
		if (!table->binds || !text || !netprefix_parse(text, &table->binds[table->bind_count++].prefix, NULL))
			return false;
	}
	return table->bind_count;
}

/* Asks the proxies of a group. What is not known counts as not drained; the last line that is printed says why. */
static bool is_drained(const json_t *group)
{
	const json_t *list = json_object_get(group, "proxies");
	struct proxies proxies = {.file = "the roll-out", .timeout_s = PAGE_S, .peers = {.what = "the roll-out"}};
	size_t count = json_array_size(list);
	struct netaddr *backends = calloc(count + 1, sizeof(*backends));
	char **words = calloc(count + 1, sizeof(*words)), address[NETADDR_TEXT_MAX];
	struct table table = {0};
	bool drained;

	if (count == 0)
		return true;
	for (size_t i = 0; i < count && words; i++)
		words[i] = (char *)(json_string_value(json_array_get(list, i)) ?: "");
	if (!backends || !words || !read_vips(json_object_get(group, "vips"), &table) ||
		peers_read(&proxies.peers, words, count, NULL) != COMMAND_OK)
		return command_error("`drains` of the roll-out cannot be read"), false;
	for (size_t i = 0; i < count; i++)
		backends[i] = proxies.peers.items[i].backend;
	drained = proxies_ask_for_new_counts(&proxies, backends, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t left;
		bool known = proxies_count_left(&proxies, &backends[i], &table, &left);

		if (known && left)
			command_error("%s has %" PRIu64 " connection%s left", netaddr_format(&backends[i], address),
				left, text_plural(left));
		drained &= known && !left;
	}
	return drained;
}

/* Runs in the child process. */
static void ask(const void *data)
{
	const struct rollout *rollout = data;
	const struct rlimit memory = {(rlim_t)512 << 20, (rlim_t)512 << 20}, cpu = {60, 60};
	json_t *groups = json_loads(rollout->drains, 0, NULL), *group;
	bool any = false, drained = true;
	size_t i;

	command_open("drain");
	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CPU, &cpu);
	json_array_foreach(groups, i, group)
	{
		if (member_number(group, "step") != rollout->step)
			continue;
		any = true;
		drained &= is_drained(group);
	}
	if (!any)
		command_error("`drains` of the roll-out has no proxies for this step");
	job_finish(json_pack("{s:b}", "drained", any && drained));
}

void leader_end_drain(struct leader *leader)
{
	job_stop(&leader->drain_job, 0);
	leader->drained = false;
	leader->drain[0] = '\0';
	leader->drain_ms = 0;
}

void leader_step_drain(struct leader *leader)
{
	struct job *job = &leader->drain_job;
	json_t *result;

	if (!rollout_asks_proxies(&leader->rollout)) {
		leader_end_drain(leader);
		return;
	}
	if (job_step(job, true, &result)) {
		leader->drained = json_is_true(json_object_get(result, "drained"));
		snprintf(leader->drain, sizeof(leader->drain), "%.299s", job->note);
		text_mend(leader->drain);
		leader->drain_ms = leader->now_ms + ASK_MS;
		json_decref(result);
	}
	if (!leader->drained && !job_runs(job) && leader->now_ms >= leader->drain_ms)
		job_start(job, ask, &leader->rollout, CHILD_MS);
}
