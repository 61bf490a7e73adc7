/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/round.h"

#include <stdio.h>

#include "common/clock.h"
#include "program/log.h"

#define VIPS_ROOM (ANNOUNCE_MAX_VIPS + 1) /* with the address of the probe */

static struct netprefix host(const struct netaddr *addr)
{
	return (struct netprefix){.addr = *addr, .length = (uint8_t)netaddr_bits(addr)};
}

/* Writes the prefixes that the binds have. */
static size_t of_binds(const struct daemon *daemon, struct netprefix *prefixes)
{
	size_t left_out, count;

	count = director_prefixes(
		&daemon->director, &daemon->settings.conf.probe.address, prefixes, ANNOUNCE_MAX_VIPS, &left_out);
	if (left_out)
		log_warning(
			"%zu prefix%s of the binds %s not announced, because %s larger than /24 or /48, or there are more than %d: list the VIPs in %s",
			left_out, left_out == 1 ? "" : "es", left_out == 1 ? "is" : "are",
			left_out == 1 ? "it is" : "they are", ANNOUNCE_MAX_VIPS, daemon->path);
	return count;
}

bool round_use_vips(struct daemon *daemon)
{
	static struct netprefix binds[VIPS_ROOM];
	const struct announce_conf *conf = &daemon->settings.conf;
	struct netprefix probe = host(&conf->probe.address);
	size_t count = conf->vip_count;

	if (conf->all_binds && !daemon->director.generation)
		return true; /* the binds are not known yet */
	if (conf->all_binds)
		count = of_binds(daemon, binds);
	if (!vips_replace(&daemon->vips, conf->all_binds ? binds : conf->vips, count,
		    conf->probe.address.family ? &probe : NULL))
		return false;
	daemon->reassert_ms = 0; /* whether the new ones are announced is not known */
	return true;
}

static struct vip *find_probe(struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->vips.count; i++)
		if (daemon->vips.items[i].is_probe)
			return &daemon->vips.items[i];
	return NULL;
}

static void feed_proof(struct daemon *daemon, enum answer answer, const char *reason, uint64_t now)
{
	const struct announce_probe *conf = daemon->probe.conf;
	const struct decision_rule rule = {
		.damper = {.trigger_healthy = conf->rise, .trigger_unhealthy = conf->fall ? conf->fall : 1}};
	char address[NETADDR_TEXT_MAX];

	if (!decision_feed(&daemon->proof, answer, reason, &rule, now))
		return;
	daemon->changed = true;
	log_notice("probe of %s: forwarding is %s: %s", netaddr_format(&conf->address, address),
		daemon->proof.verdict == DECISION_GOOD ? "proven" : "not proven", reason);
}

/* A proof is worth something only while the address of the probe is announced. */
static void ask_probe(struct daemon *daemon, uint64_t now)
{
	const struct announce_probe *conf = daemon->probe.conf;
	const struct vip *vip = find_probe(daemon);
	char reason[DECISION_REASON_MAX];
	bool replied;

	if (!probe_exists(&daemon->probe) || !vip)
		return;
	if (vip->decision.verdict == DECISION_BAD) {
		probe_rest(&daemon->probe);
		feed_proof(daemon, ANSWER_GONE, vip->decision.reason, now);
		return;
	}
	if (vip->state != VIPS_ANNOUNCED || !probe_step(&daemon->probe, now, &replied))
		return;
	if (!replied && !conf->fall && daemon->proof.verdict != DECISION_BAD) {
		daemon->proof.damper.streak = 0; /* of the replies before a proof */
		return;
	}
	snprintf(reason, sizeof(reason), "no ping to the address of the probe came back%s%s",
		daemon->probe.error[0] ? ": " : "", daemon->probe.error);
	if (replied)
		feed_proof(daemon, ANSWER_GOOD, "pings to the address of the probe come back", now);
	else
		feed_proof(daemon, ANSWER_BAD, reason, now);
}

void round_ask(struct daemon *daemon)
{
	const struct announce_conf *conf = &daemon->settings.conf;
	const struct decision_rule rule = {
		.damper = {.trigger_healthy = conf->rise,
			.trigger_unhealthy = conf->fall,
			.hold_ms = conf->hold_ms,
			.hold_max_ms = conf->hold_max_ms},
		.fail_static = conf->fail == ANNOUNCE_FAIL_STATIC,
	};
	struct faults faults = {.file = conf->switch_file};
	char reason[DECISION_REASON_MAX];
	uint64_t now;

	if (director_ask(&daemon->director, conf) && !round_use_vips(daemon))
		log_error("out of memory; the VIPs stay as they are");
	now = clock_now_ms();
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		enum answer answer = director_answer(&daemon->director, &vip->prefix, reason);

		daemon->changed |= decision_feed(&vip->decision, answer, reason, &rule, now);
	}
	ask_probe(daemon, now);
	if (operator_switch_read(conf->switch_file, &daemon->operator_switch, &faults))
		log_limited(LOG_LEVEL_ERROR, "%s", faults_first_error(&faults));
	faults_clear(&faults);
}

static enum vips_state wish_of(const struct decision *decision)
{
	static const enum vips_state wishes[] = {
		[DECISION_NONE] = VIPS_UNKNOWN,
		[DECISION_GOOD] = VIPS_ANNOUNCED,
		[DECISION_BAD] = VIPS_WITHDRAWN,
	};

	return wishes[decision->verdict];
}

/* A VIP is announced if the director forwards its packets, and if the probe has proven that it forwards at all. */
static enum vips_state wish_of_answers(const struct daemon *daemon, const struct vip *vip, const char **reason)
{
	*reason = vip->decision.reason[0] ? vip->decision.reason : daemon->director.reason;
	if (vip->decision.verdict != DECISION_GOOD || !probe_exists(&daemon->probe) || vip->is_probe)
		return wish_of(&vip->decision);
	if (daemon->proof.verdict != DECISION_GOOD)
		*reason = daemon->proof.reason[0] ? daemon->proof.reason
						  : "no ping to the address of the probe came back yet";
	return wish_of(&daemon->proof);
}

enum vips_state round_wish(const struct daemon *daemon, const struct vip *vip, const char **reason)
{
	static char text[300];

	if (daemon->stopping)
		*reason = "glb-announce stops";
	else if (vip->gone)
		*reason = "neither the configuration nor the forwarding table has it any more";
	else if (daemon->operator_switch.withdrawn && !vip->is_probe)
		*reason = operator_switch_text(&daemon->operator_switch, text);
	else
		return wish_of_answers(daemon, vip, reason);
	return VIPS_WITHDRAWN;
}
