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

/* Clears the error when no command fails any longer. */
static void clear_error(struct daemon *daemon)
{
	if (!daemon->driver_error[0] || daemon->check_retry.failures)
		return;
	for (size_t i = 0; i < daemon->vips.count; i++)
		if (daemon->vips.items[i].retry.failures)
			return;
	log_notice("the commands of %s work again", daemon->settings.conf.driver);
	daemon->driver_error[0] = '\0';
	daemon->changed = true;
}

/* Sets one VIP. Returns false if the command failed. */
static bool set_vip(struct daemon *daemon, struct vip *vip, enum vips_state wish, const char *reason)
{
	char error[DRIVER_ERROR_MAX], whole[DRIVER_ERROR_MAX + NETPREFIX_TEXT_MAX + 4], prefix[NETPREFIX_TEXT_MAX];

	netprefix_format(&vip->prefix, prefix);
	if (!driver_set(&daemon->settings.driver, &vip->prefix, wish == VIPS_ANNOUNCED, error)) {
		snprintf(whole, sizeof(whole), "%s: %s", prefix, error);
		failed(daemon, &vip->retry, whole);
		return false;
	}
	vip->retry = (struct vips_retry){0};
	vip->repeat = false;
	if (vip->state != wish)
		log_notice("%s: %s: %s", prefix, vips_state_name(wish), reason);
	set_state(daemon, vip, wish);
	return true;
}

/*
 * Finds out what the routing daemon announces, because it may have been restarted, or an operator may have told it something else.
 * Without a check the commands are repeated.
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
		/* The check may overlook a VIP, so what should be withdrawn is withdrawn once more. */
		vip->repeat |= vip->state == VIPS_ANNOUNCED && !announced;
		set_state(daemon, vip, state);
	}
	free(printed);
	return true;
}

/* Runs the commands for the VIPs that should get to this state. Ends after a while. Returns false if a VIP did not get there. */
static bool set_all(struct daemon *daemon, enum vips_state wanted, uint64_t end_ms)
{
	bool done = true;

	for (size_t i = 0; i < daemon->vips.count && clock_now_ms() < end_ms; i++) {
		struct vip *vip = &daemon->vips.items[i];
		const char *reason;
		enum vips_state wish = round_wish(daemon, vip, &reason);

		if (wish != wanted || (vip->state == wish && !vip->repeat))
			continue;
		/* Nobody would withdraw it if this process were killed. */
		if (wish == VIPS_ANNOUNCED && !vip->recorded)
			continue;
		if (!daemon->stopping && clock_now_ms() < vip->retry.next_ms)
			done = false;
		else
			done &= set_vip(daemon, vip, wish, reason);
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
	/* A VIP whose command fails must not keep others from being withdrawn. */
	done = set_all(daemon, VIPS_WITHDRAWN, end);
	done &= set_all(daemon, VIPS_ANNOUNCED, end);
	clear_error(daemon);
	vips_forget(&daemon->vips);
	return done;
}
