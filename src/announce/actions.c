/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "announce/round.h"
#include "common/clock.h"
#include "program/log.h"

#define DRIVER_RETRY_MAX_MS 8000u
/* Then the director is asked again, before the other VIPs follow. */
#define ROUND_MAX_MS 3000u

static void set_state(struct daemon *daemon, struct vip *vip, enum vips_state state)
{
	if (vip->state == state)
		return;
	vip->state = state;
	vip->changed_s = (uint64_t)time(NULL);
	daemon->changed = true;
}

static void driver_failed(struct daemon *daemon, const char *error)
{
	uint64_t wait = damper_backoff_ms(++daemon->driver_failures);

	if (strcmp(daemon->driver_error, error) != 0)
		log_error("%s; glb-announce tries again", error);
	snprintf(daemon->driver_error, sizeof(daemon->driver_error), "%s", error);
	daemon->driver_retry_ms = clock_now_ms() + (wait < DRIVER_RETRY_MAX_MS ? wait : DRIVER_RETRY_MAX_MS);
	daemon->changed = true;
}

static void driver_works(struct daemon *daemon)
{
	if (!daemon->driver_error[0])
		return;
	log_notice("the commands of %s work again", daemon->settings.conf.driver);
	daemon->driver_error[0] = '\0';
	daemon->driver_failures = 0;
	daemon->changed = true;
}

/* Sets one VIP. Returns false if the command failed. */
static bool set_vip(struct daemon *daemon, struct vip *vip, enum vips_state wish, const char *reason)
{
	char error[DRIVER_ERROR_MAX], prefix[NETPREFIX_TEXT_MAX];

	netprefix_format(&vip->prefix, prefix);
	if (!driver_set(&daemon->settings.driver, &vip->prefix, wish == VIPS_ANNOUNCED, error)) {
		driver_failed(daemon, error);
		return false;
	}
	driver_works(daemon);
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
		driver_failed(daemon, error);
		return false;
	}
	driver_works(daemon);
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		bool announced = driver_is_announced(&daemon->settings.driver, &vip->prefix, printed);
		enum vips_state state = announced ? VIPS_ANNOUNCED : VIPS_WITHDRAWN;

		if (vip->state != VIPS_UNKNOWN && vip->state != state)
			log_warning("%s: the routing daemon has it %s, although it was told otherwise",
				netprefix_format(&vip->prefix, prefix), vips_state_name(state));
		set_state(daemon, vip, state);
	}
	free(printed);
	return true;
}

bool actions_run(struct daemon *daemon)
{
	uint64_t now = clock_now_ms();

	if (!daemon->stopping && now < daemon->driver_retry_ms && daemon->driver_error[0])
		return false;
	if (daemon->stopping || now >= daemon->reassert_ms) {
		if (!look(daemon) && !daemon->stopping)
			return false;
		daemon->reassert_ms = now + daemon->settings.conf.reassert_ms;
		daemon->changed = true;
	}
	for (size_t i = 0; i < daemon->vips.count; i++) {
		struct vip *vip = &daemon->vips.items[i];
		const char *reason;
		enum vips_state wish = round_wish(daemon, vip, &reason);

		if (wish == VIPS_UNKNOWN || (vip->state == wish && !vip->repeat))
			continue;
		if (!set_vip(daemon, vip, wish, reason))
			return false;
		if (!daemon->stopping && clock_now_ms() - now > ROUND_MAX_MS)
			break;
	}
	vips_forget(&daemon->vips);
	return true;
}
