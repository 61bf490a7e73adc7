/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "announce/round.h"
#include "common/clock.h"
#include "common/text.h"
#include "program/log.h"

#define DRIVER_RETRY_MAX_MS 8000u
/* Then the director is asked again, before the other VIPs follow. */
#define ROUND_MAX_MS 3000u
#define STOP_MAX_MS  20000u

static void set_state(struct daemon *daemon, struct vip *vip, enum vips_state state)
{
	if (vip->state == state)
		return;
	vip->state = state;
	vip->changed_s = (uint64_t)time(NULL);
	daemon->changed = true;
}

/* Notes a failure of a command that is tried again later. It is logged once. */
static void failed(struct daemon *daemon, struct vips_retry *retry, const char *error)
{
	uint64_t wait = damper_backoff_ms(++retry->failures);

	if (retry->failures == 1)
		log_error("%s; glb-announce tries again", error);
	snprintf(daemon->driver_error, sizeof(daemon->driver_error), "%.255s", error);
	text_mend(daemon->driver_error); /* a character may be cut */
	retry->next_ms = clock_now_ms() + (wait < DRIVER_RETRY_MAX_MS ? wait : DRIVER_RETRY_MAX_MS);
	daemon->changed = true;
}

/* Forgets the failures of commands that are no longer needed. They must not delay a command for the other state. */
static void forget_failures(struct daemon *daemon)
{
	const char *reason;

	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];

		if (vip->retry.failures && round_wish(daemon, vip, &reason) != vip->retry.wish)
			vip->retry = (struct vips_retry){0};
	}
}

/* Clears the error when no command fails any longer. */
static void clear_error(struct daemon *daemon)
{
	if (!daemon->driver_error[0] || daemon->check_retry.failures)
		return;
	for (size_t i = 0; i < daemon->vips.count; i++)
		if (daemon->vips.items[i].retry.failures)
			return;
	log_notice("%s: no command fails any longer", daemon->settings.conf.driver);
	daemon->driver_error[0] = '\0';
	daemon->changed = true;
}

static void succeeded(struct daemon *daemon, struct vip *vip, enum vips_state wish, const char *reason)
{
	char prefix[NETPREFIX_TEXT_MAX];

	vip->retry = (struct vips_retry){0};
	vip->repeat = false;
	if (vip->state != wish)
		log_notice("%s: %s: %s", netprefix_format(&vip->prefix, prefix), vips_state_name(wish), reason);
	set_state(daemon, vip, wish);
}

/* Notes that a command may have announced the VIP before it failed, or that the routing daemon may still obey it. */
static void doubt(struct daemon *daemon, struct vip *vip)
{
	vip->repeat = true;
	if (vip->state == VIPS_WITHDRAWN)
		set_state(daemon, vip, VIPS_UNKNOWN);
}

/* Sets one VIP. Returns false if the command failed. */
static bool set_vip(struct daemon *daemon, struct vip *vip, enum vips_state wish, const char *reason)
{
	char error[DRIVER_ERROR_MAX], whole[DRIVER_ERROR_MAX + NETPREFIX_TEXT_MAX + 4], prefix[NETPREFIX_TEXT_MAX];

	if (!driver_set(&daemon->settings.driver, &vip->prefix, wish == VIPS_ANNOUNCED, error)) {
		snprintf(whole, sizeof(whole), "%s: %s", netprefix_format(&vip->prefix, prefix), error);
		failed(daemon, &vip->retry, whole);
		vip->retry.wish = wish;
		if (wish == VIPS_ANNOUNCED)
			doubt(daemon, vip);
		return false;
	}
	succeeded(daemon, vip, wish, reason);
	return true;
}

/*
 * Finds out what the routing daemon announces, because it may have been restarted, or an operator may have told it
 * something else. Without a check the commands are repeated.
 */
static bool look(struct daemon *daemon)
{
	char error[DRIVER_ERROR_MAX], prefix[NETPREFIX_TEXT_MAX], *printed;

	if (!daemon->settings.driver.check) {
		for (size_t i = 0; i < daemon->vips.count; i++)
			daemon->vips.items[i].repeat = true;
		return true;
	}
	printed = driver_check(&daemon->settings.driver, error);
	if (!printed) {
		failed(daemon, &daemon->check_retry, error);
		return false;
	}
	daemon->check_retry = (struct vips_retry){0};
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		bool announced = driver_is_announced(&daemon->settings.driver, &vip->prefix, printed);
		enum vips_state state = announced ? VIPS_ANNOUNCED : VIPS_WITHDRAWN;

		if (vip->state != VIPS_UNKNOWN && vip->state != state)
			log_warning("%s: the routing daemon has it %s, although it was told otherwise",
				netprefix_format(&vip->prefix, prefix), vips_state_name(state));
		/* The check may overlook a VIP, or look too early, so only a command proves that it is withdrawn. */
		if (announced)
			vip->repeat &= vip->retry.failures > 0;
		else
			vip->repeat |= vip->state == VIPS_ANNOUNCED;
		set_state(daemon, vip, !announced && vip->repeat ? VIPS_UNKNOWN : state);
	}
	free(printed);
	return true;
}

/* Returns whether a command is needed to get the VIP to this state, and in *reason why it should be there. */
static bool needs(const struct daemon *daemon, const struct vip *vip, enum vips_state wanted, const char **reason)
{
	if (round_wish(daemon, vip, reason) != wanted || (vip->state == wanted && !vip->repeat))
		return false;
	/* Nobody would withdraw a VIP without a record if this process were killed. */
	return wanted != VIPS_ANNOUNCED || vip->recorded;
}

static bool is_due(const struct daemon *daemon, const struct vip *vip)
{
	return daemon->stopping || clock_now_ms() >= vip->retry.next_ms;
}

/* Sets those VIPs together that the driver can set so. The others keep their state, and get their own commands. */
static void set_batch(struct daemon *daemon, enum vips_state wanted)
{
	static struct netprefix prefixes[ANNOUNCE_MAX_VIPS];
	static struct vip *vips[ANNOUNCE_MAX_VIPS];
	static bool done[ANNOUNCE_MAX_VIPS];
	char error[DRIVER_ERROR_MAX];
	const char *reason;
	size_t count = 0;

	if (!daemon->settings.driver.batch || daemon->check_retry.failures || clock_now_ms() < daemon->batch_next_ms)
		return;
	for (size_t i = 0; i < daemon->vips.count && count < ANNOUNCE_MAX_VIPS; i++) {
		struct vip *vip = &daemon->vips.items[i];

		if (!needs(daemon, vip, wanted, &reason) || !is_due(daemon, vip))
			continue;
		vips[count] = vip;
		prefixes[count++] = vip->prefix;
	}
	if (count < 2)
		return;
	if (!driver_set_batch(&daemon->settings.driver, prefixes, count, wanted == VIPS_ANNOUNCED, done, error)) {
		log_limited(LOG_LEVEL_WARNING, "%s; glb-announce sets the VIPs one by one", error);
		daemon->batch_next_ms = clock_now_ms() + DRIVER_RETRY_MAX_MS;
	}
	for (size_t i = 0; i < count; i++)
		if (done[i] && needs(daemon, vips[i], wanted, &reason))
			succeeded(daemon, vips[i], wanted, reason);
		else if (wanted == VIPS_ANNOUNCED)
			doubt(daemon, vips[i]);
}

/* Runs the commands for the VIPs that should get to this state. Ends after a while. Returns false if a VIP did not get
 * there. */
static bool set_all(struct daemon *daemon, enum vips_state wanted, uint64_t end_ms)
{
	bool done = true;
	const char *reason;

	if (clock_now_ms() < end_ms)
		set_batch(daemon, wanted);
	for (size_t i = 0; i < daemon->vips.count && clock_now_ms() < end_ms; i++) {
		struct vip *vip = &daemon->vips.items[i];

		if (!needs(daemon, vip, wanted, &reason))
			continue;
		done &= is_due(daemon, vip) && set_vip(daemon, vip, wanted, reason);
	}
	return done && clock_now_ms() < end_ms;
}

bool actions_run(struct daemon *daemon)
{
	uint64_t now = clock_now_ms(), end = now + (daemon->stopping ? STOP_MAX_MS : ROUND_MAX_MS);
	bool done;

	if (daemon->stopping || (now >= daemon->reassert_ms && now >= daemon->check_retry.next_ms)) {
		if (look(daemon))
			daemon->reassert_ms = now + daemon->settings.conf.reassert_ms;
		daemon->changed = true;
	}
	forget_failures(daemon);
	/* A VIP whose command fails must not keep others from being withdrawn. */
	done = set_all(daemon, VIPS_WITHDRAWN, end);
	done &= set_all(daemon, VIPS_ANNOUNCED, end);
	clear_error(daemon);
	vips_forget(&daemon->vips);
	return done;
}
