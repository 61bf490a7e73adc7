/* SPDX-License-Identifier: BSD-3-Clause */
/* `glb-redirect drained`: how many connections of clients this host still has, so that it can be switched off. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "common/clock.h"
#include "common/text.h"
#include "redirect/explain.h"
#include "redirect/host/diag.h"
#include "redirect/host/system.h"
#include "redirect/kernel/served.h"
#include "redirect/loader.h"

#define INTERVAL_MS 1000
#define WAIT_MAX_S  (24 * 3600)
#define SHARE       10 /* waits this many times as long as counting took, so that it does not load the host */

enum {
	OPTION_VIP,
	OPTION_WAIT,
	OPTION_JSON,
};

static const struct command_option options[] = {
	{"vip", "ADDRESS,...", "count connections of these VIPs only (default: allow_to, or the addresses of lo)"},
	{"wait", "DURATION", "wait until none is left, for at most this time: 30s, 10m, 2h"},
	{"json", NULL, "print a JSON object"},
	{0},
};

enum idle {
	IDLE_UNDER_1M,
	IDLE_UNDER_10M,
	IDLE_UNDER_1H,
	IDLE_LONGER,
	IDLE_COUNT,
};

static const char *const idle_keys[] = {"idle_under_1m", "idle_under_10m", "idle_under_1h", "idle_longer"};

struct left {
	uint32_t tcp, udp;
	uint32_t idle[IDLE_COUNT]; /* TCP connections */
};

struct drain {
	struct vips vips;
	struct left vip[VIPS_MAX];
	uint64_t left; /* connections of all VIPs */
};

static enum idle idle_class(uint32_t idle_ms)
{
	uint32_t minutes = idle_ms / 60000;

	return minutes < 1 ? IDLE_UNDER_1M : minutes < 10 ? IDLE_UNDER_10M : minutes < 60 ? IDLE_UNDER_1H : IDLE_LONGER;
}

static void count(const struct diag_open *open, void *data)
{
	struct drain *drain = data;
	const struct netprefix *found = vips_find(&drain->vips, &open->local);
	struct left *left;

	if (!found)
		return;
	left = &drain->vip[found - drain->vips.items];
	drain->left++;
	if (open->udp) {
		left->udp++;
	} else {
		left->tcp++;
		left->idle[idle_class(open->idle_ms)]++;
	}
}

static int count_all(struct drain *drain)
{
	int error;

	memset(drain->vip, 0, sizeof(drain->vip));
	drain->left = 0;
	error = diag_each_open(count, drain, true);
	return error ? command_error("cannot read the sockets of this host: %s", strerror(-error)) : COMMAND_OK;
}

/* Counts again until nothing is left, or until the time is over. */
static int wait_and_count(struct drain *drain, uint64_t wait_ms)
{
	uint64_t end = clock_now_ms() + wait_ms;

	for (;;) {
		uint64_t start = clock_now_ms(), now, pause;
		int code = count_all(drain);

		now = clock_now_ms();
		if (code != COMMAND_OK || !drain->left || now >= end)
			return code;
		pause = SHARE * (now - start) > INTERVAL_MS ? SHARE * (now - start) : INTERVAL_MS;
		if (pause > end - now)
			pause = end - now;
		nanosleep(&(struct timespec){(time_t)(pause / 1000), (long)(pause % 1000) * 1000000}, NULL);
	}
}

static int read_vips(const char *named, struct vips *vips)
{
	char word[NETPREFIX_TEXT_MAX];
	int error = 0;

	if (named && !vips_add_list(vips, named, word))
		return command_usage("--vip: '%s' is not an address or a prefix", word);
	if (!named)
		error = system_can_read_maps() ? served_read(vips) : -EPERM;
	if (error == -EPROTO)
		return command_error("the settings of an attached program cannot be read by version " GLB_VERSION
				     ": name the VIPs with --vip");
	if (error)
		return explain_folder(NULL, error);
	if (vips->left_out)
		return command_error("%zu VIPs are more than the %d that fit: name some of them with --vip",
			vips->count + vips->left_out, VIPS_MAX);
	if (!vips->count)
		return command_error("this host has no VIP on lo: name the VIPs with --vip");
	return COMMAND_OK;
}

static void print_text(const struct drain *drain)
{
	char vip[NETPREFIX_TEXT_MAX];

	if (!drain->left) {
		puts("drained: no connection is left");
		return;
	}
	printf("%-24s %11s %9s %9s %9s %9s %9s\n", "VIP", "connections", "idle <1m", "<10m", "<1h", "longer", "udp");
	for (size_t i = 0; i < drain->vips.count; i++) {
		const struct left *left = &drain->vip[i];

		printf("%-24s %11u %9u %9u %9u %9u %9u\n", netprefix_format(&drain->vips.items[i], vip), left->tcp,
			left->idle[IDLE_UNDER_1M], left->idle[IDLE_UNDER_10M], left->idle[IDLE_UNDER_1H],
			left->idle[IDLE_LONGER], left->udp);
	}
}

static void print_json(const struct drain *drain)
{
	json_t *json = json_pack("{s:b}", "drained", drain->left == 0), *vips = json_object();
	char vip[NETPREFIX_TEXT_MAX];

	for (size_t i = 0; i < drain->vips.count; i++) {
		const struct left *left = &drain->vip[i];
		json_t *object =
			json_pack("{s:I, s:I}", "connections", (json_int_t)left->tcp, "udp", (json_int_t)left->udp);

		for (int idle = 0; idle < IDLE_COUNT; idle++)
			json_object_set_new(object, idle_keys[idle], json_integer(left->idle[idle]));
		json_object_set_new(vips, netprefix_format(&drain->vips.items[i], vip), object);
	}
	json_object_set_new(json, "vips", vips);
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int drained(const struct command_args *args)
{
	const char *wait = args->options[OPTION_WAIT];
	uint32_t wait_s = 0;
	static struct drain drain;
	int code;

	if (wait && !text_duration(wait, WAIT_MAX_S, &wait_s))
		return command_usage("--wait: '%s' is not a duration from 1s to 24h, such as 30s, 10m or 2h", wait);
	code = read_vips(args->options[OPTION_VIP], &drain.vips);
	if (code == COMMAND_OK)
		code = wait_and_count(&drain, wait_s * 1000ull);
	if (code != COMMAND_OK)
		return code;
	if (args->options[OPTION_JSON])
		print_json(&drain);
	else
		print_text(&drain);
	return drain.left ? COMMAND_FAILED : COMMAND_OK;
}

const struct command drained_command = {
	.name = "drained",
	.run = drained,
	.summary = "Count the connections that are left on this host; exit with 0 if there is none",
	.options = options,
};
