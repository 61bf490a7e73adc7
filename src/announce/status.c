/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/status.h"

#include <errno.h>
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
#include "program/member.h"

static json_t *describe_vip(const struct daemon *daemon, const struct vip *vip, uint64_t now_ms)
{
	char prefix[NETPREFIX_TEXT_MAX];
	const char *reason;
	enum vips_state wish = round_wish(daemon, vip, &reason);

	return json_pack("{s:s, s:b, s:s, s:s, s:I, s:s, s:I, s:i}", "prefix", netprefix_format(&vip->prefix, prefix),
		"probe", vip->is_probe, "state", vips_state_name(vip->state), "wish", vips_state_name(wish), "since",
		(json_int_t)vip->changed_s, "reason", reason, "held_ms",
		(json_int_t)damper_held_ms(&vip->decision.damper, now_ms), "flaps", (int)vip->decision.damper.flaps);
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
		daemon->proof.verdict == DECISION_GOOD, "reason", daemon->proof.reason);
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

/* The last write of the status file. */
static bool failed;

/* Returns true if the status says that the VIP is withdrawn, and is not about to be announced. */
static bool is_withdrawn(const struct daemon *daemon, const struct vip *vip)
{
	const char *reason;

	return vip->state == VIPS_WITHDRAWN && round_wish(daemon, vip, &reason) == VIPS_WITHDRAWN;
}

bool status_write(struct daemon *daemon)
{
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
		log_error("%s; glb-announce announces no further VIP until it can write this file",
			faults_first_error(&faults));
	else if (failed && !faults.errors)
		log_notice("%s: can be written again", daemon->settings.conf.status_file);
	failed = faults.errors;
	faults_clear(&faults);
	for (size_t i = 0; !failed && i < daemon->vips.count; i++)
		daemon->vips.items[i].recorded = !is_withdrawn(daemon, &daemon->vips.items[i]);
	return !failed;
}

static bool says_withdrawn(const json_t *vip, const char *key)
{
	return strcmp(member_text(vip, key), vips_state_name(VIPS_WITHDRAWN)) == 0;
}

static uint64_t integer(const json_t *object, const char *key, uint64_t max)
{
	json_int_t value = member_number(object, key);

	if (value < 0)
		return 0;
	return (uint64_t)value < max ? (uint64_t)value : max;
}

/* A VIP that was about to be announced when the file was written may be announced. The hold went on since then. */
static struct vip restore(
	const json_t *json, const struct netprefix *prefix, unsigned max_ms, uint64_t age_ms, uint64_t now_ms)
{
	struct vip vip = {.prefix = *prefix, .is_probe = json_is_true(json_object_get(json, "probe"))};
	uint64_t held_ms = integer(json, "held_ms", max_ms);

	if (says_withdrawn(json, "state") && says_withdrawn(json, "wish"))
		vip.state = VIPS_WITHDRAWN;
	vip.recorded = vip.repeat = vip.state != VIPS_WITHDRAWN;
	vip.decision.damper.flaps = (unsigned)integer(json, "flaps", 32);
	vip.decision.fell = held_ms || vip.decision.damper.flaps;
	if (held_ms > age_ms)
		vip.decision.damper.held_until_ms = now_ms + held_ms - age_ms;
	return vip;
}

int status_read(const struct announce_conf *conf, struct vips *vips, struct faults *faults)
{
	uint64_t now_s = (uint64_t)time(NULL), updated_s, now_ms = clock_now_ms();
	struct netprefix prefix;
	json_t *status, *json;
	bool damaged;
	char *text;
	size_t size, i;
	int error;

	*vips = (struct vips){.items = calloc(STATUS_MAX_VIPS, sizeof(*vips->items))};
	faults->file = conf->status_file;
	error = file_read(conf->status_file, "a status", STATUS_MAX, &text, &size, faults);
	if (error)
		return error;
	status = json_loadb(text, size, 0, NULL);
	free(text);
	updated_s = integer(status, "updated", now_s);
	damaged = !vips->items || !json_is_array(json_object_get(status, "vips"));
	json_array_foreach(json_object_get(status, "vips"), i, json)
	{
		bool read = netprefix_parse(member_text(json, "prefix"), &prefix, NULL);

		damaged |= !read || vips->count == STATUS_MAX_VIPS;
		if (!damaged && !vips_find(vips, &prefix))
			vips->items[vips->count++] =
				restore(json, &prefix, conf->hold_max_ms, (now_s - updated_s) * 1000, now_ms);
	}
	json_decref(status);
	if (damaged)
		faults_error(faults, NULL, "is not a status of glb-announce, or damaged");
	return damaged ? -EINVAL : 0;
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
	unproven = probe_exists(&daemon->probe) && daemon->director.answer == ANSWER_GOOD &&
		   daemon->proof.verdict == DECISION_BAD;
	snprintf(line, size, "announces %zu of %zu VIP%s; %s%s%s%s%s%s", announced, count, text_plural(count),
		daemon->operator_switch.withdrawn ? operator_switch_text(&daemon->operator_switch, who)
						  : daemon->director.reason,
		unproven ? "; " : "", unproven ? daemon->proof.reason : "", daemon->driver_error[0] ? "; " : "",
		daemon->driver_error, failed ? "; status_file cannot be written, so no further VIP is announced" : "");
}
