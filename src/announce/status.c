/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "announce/round.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/text.h"
#include "program/log.h"

static json_t *describe_vip(const struct daemon *daemon, const struct vip *vip, uint64_t now_ms)
{
	char prefix[NETPREFIX_TEXT_MAX];
	const char *reason;
	enum vips_state wish = round_wish(daemon, vip, &reason);

	return json_pack("{s:s, s:b, s:s, s:s, s:I, s:s, s:I}", "prefix", netprefix_format(&vip->prefix, prefix),
		"probe", vip->is_probe, "state", vips_state_name(vip->state), "wish", vips_state_name(wish), "since",
		(json_int_t)vip->changed_s, "reason", reason, "held_ms",
		(json_int_t)damper_held_ms(&vip->damper, now_ms));
}

static json_t *describe_switch(const struct operator_switch *state)
{
	if (!state->withdrawn)
		return json_null();
	return json_pack(
		"{s:s, s:s, s:I}", "by", state->by, "reason", state->reason, "since", (json_int_t)state->since_s);
}

static json_t *describe_probe(const struct daemon *daemon)
{
	char address[NETADDR_TEXT_MAX];

	if (!probe_exists(&daemon->probe))
		return json_null();
	return json_pack("{s:s, s:b, s:s}", "address", netaddr_format(&daemon->probe.conf->address, address), "proven",
		daemon->proof.wish == VIPS_ANNOUNCED, "reason", daemon->proof.reason);
}

static json_t *describe(const struct daemon *daemon)
{
	json_t *vips = json_array();
	uint64_t now_ms = clock_now_ms();

	for (size_t i = 0; i < daemon->vips.count; i++)
		json_array_append_new(vips, describe_vip(daemon, &daemon->vips.items[i], now_ms));
	return json_pack("{s:s, s:i, s:I, s:I, s:b, s:{s:s, s:s, s:I, s:I}, s:o, s:o, s:{s:s, s:s}, s:o}", "version",
		GLB_VERSION, "pid", (int)getpid(), "started", (json_int_t)daemon->started_s, "updated",
		(json_int_t)time(NULL), "stopping", daemon->stopping, "director", "state", daemon->director.state,
		"reason", daemon->director.reason, "pid", daemon->director.pid, "generation", daemon->director.generation,
		"operator", describe_switch(&daemon->operator_switch), "probe", describe_probe(daemon), "driver",
		"file", daemon->settings.conf.driver, "error", daemon->driver_error, "vips", vips);
}

void status_write(const struct daemon *daemon)
{
	static bool failed;
	struct faults faults = {.file = daemon->settings.conf.status_file};
	json_t *json = describe(daemon);
	char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;

	json_decref(json);
	if (!text)
		faults_error(&faults, NULL, "the status has text that is not UTF-8");
	else
		file_replace(daemon->settings.conf.status_file, NULL, text, strlen(text), &faults);
	free(text);
	if (faults.errors && !failed)
		log_error("%s; glb-announce goes on without this file", faults_first_error(&faults));
	failed = faults.errors;
	faults_clear(&faults);
}

static bool is_withdrawn(const json_t *vip, const char *key)
{
	const char *text = json_string_value(json_object_get(vip, key));

	return text && strcmp(text, vips_state_name(VIPS_WITHDRAWN)) == 0;
}

/* A VIP that was about to be announced when the file was written may be announced, too. */
size_t status_read_prefixes(const char *path, struct netprefix *prefixes, size_t max)
{
	json_t *status = json_load_file(path, 0, NULL), *vip;
	size_t count = 0, i;

	json_array_foreach(json_object_get(status, "vips"), i, vip)
	{
		const char *text = json_string_value(json_object_get(vip, "prefix"));

		if (is_withdrawn(vip, "state") && is_withdrawn(vip, "wish"))
			continue;
		if (count < max && text && netprefix_parse(text, &prefixes[count], NULL))
			count++;
	}
	json_decref(status);
	return count;
}

void status_line(const struct daemon *daemon, char *line, size_t size)
{
	size_t announced = 0, count = 0;
	bool unproven;
	char who[300];

	for (size_t i = 0; i < daemon->vips.count; i++) {
		const struct vip *vip = &daemon->vips.items[i];

		count += !vip->is_probe;
		announced += !vip->is_probe && vip->state == VIPS_ANNOUNCED;
	}
	unproven = probe_exists(&daemon->probe) && daemon->director.answer == VIPS_GOOD &&
		   daemon->proof.wish == VIPS_WITHDRAWN;
	snprintf(line, size, "announces %zu of %zu VIP%s; %s%s%s%s%s", announced, count, text_plural(count),
		daemon->operator_switch.withdrawn ? operator_switch_text(&daemon->operator_switch, who)
						  : daemon->director.reason,
		unproven ? "; " : "", unproven ? daemon->proof.reason : "", daemon->driver_error[0] ? "; " : "",
		daemon->driver_error);
}
