/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the eBPF programs on the interface. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "redirect/check/check.h"
#include "redirect/kernel/companion.h"
#include "redirect/explain.h"
#include "redirect/kernel/pins.h"

#define UNIT_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_."

/* No program of glb-redirect is pinned for the interface. */
static void check_unpinned(struct check *check)
{
	const char *name = check->subject->interface;
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	char command[FINDINGS_COMMAND_MAX];
	int error = bpf_xdp_query((int)check->subject->link->index, 0, &query);

	if (error)
		check_ok(check, "not known: the kernel does not tell its XDP program: %s", strerror(-error));
	else if (query.attach_mode == XDP_ATTACHED_NONE)
		check_ok(check, "no XDP program is attached: glb-redirect attach %s", name);
	else {
		explain_removal(command, sizeof(command), name, query.prog_id);
		check_add(check, FINDINGS_FAIL, name, command,
			explain_is_dispatcher(name, query.prog_id)
				? "the dispatcher of libxdp (id %u) is attached, which glb-redirect does not join: glb-redirect next runs another program after this one"
				: "another XDP program (id %u) is attached, which glb-redirect attach does not replace",
			query.prog_id);
	}
}

static void check_place(struct check *check, const struct pins *pins)
{
	const char *name = check->subject->interface;
	char command[FINDINGS_COMMAND_MAX];
	struct pins_location location;
	int error = pins_locate(name, pins, &location);

	snprintf(command, sizeof(command), "glb-redirect detach %s", name);
	if (error)
		check_ok(check, "not known: the kernel does not tell its XDP program: %s", strerror(-error));
	else if (location.place == PINS_GONE)
		check_add(check, FINDINGS_FAIL, name, command,
			"the program was attached to an interface of this name that was deleted: attach it again after this command");
	else if (location.place == PINS_RENAMED)
		check_add(check, FINDINGS_FAIL, name, command,
			"the program is attached to the interface that had this name, and is called %s now",
			location.name);
	else if (location.place == PINS_ELSEWHERE)
		check_add(check, FINDINGS_FAIL, name, NULL,
			"the program of this name belongs to another network namespace: mount a separate bpffs in each namespace");
}

static void check_version(struct check *check)
{
	const struct redirect_settings *settings = &check->subject->settings;
	const char *name = check->subject->interface;
	char command[FINDINGS_COMMAND_MAX];

	/* systemd escapes the other characters. */
	if (strspn(name, UNIT_CHARACTERS) == strlen(name))
		snprintf(command, sizeof(command), "systemctl reload glb-redirect@%s", name);
	else
		snprintf(command, sizeof(command),
			"systemctl reload \"$(systemd-escape --template=glb-redirect@.service '%s')\"", name);
	if (strncmp(settings->version, GLB_VERSION, sizeof(settings->version)) == 0)
		check_ok(check, "attached in %s mode, version %.16s", check->subject->generic ? "generic" : "native",
			settings->version);
	else
		check_add(check, FINDINGS_WARN, name, command,
			"the attached program has version %.16s, but " GLB_VERSION
			" is installed: replace it (without systemd: glb-redirect attach %s with the same options)",
			*settings->version ? settings->version : "unknown", name);
}

void check_program(struct check *check)
{
	struct pins pins;
	int error = pins_open(check->subject->interface, &pins);

	if (error == -ENOENT)
		check_unpinned(check);
	else if (error)
		check_ok(check, "not known: the pins in " PINS_ROOT " cannot be read: %s", strerror(-error));
	else if (check->subject->attached)
		check_version(check);
	else
		check_place(check, &pins);
	if (!error)
		pins_close(&pins);
}

void check_checksums(struct check *check)
{
	const char *name = check->subject->interface;
	enum companion_place place;
	char command[FINDINGS_COMMAND_MAX];
	int error;

	if (!check->subject->attached) {
		check_ok(check, "attach also attaches the tc program for inner checksums");
		return;
	}
	error = companion_find(name, check->subject->link->index, &place);
	snprintf(command, sizeof(command), "glb-redirect reload %s", name);
	if (error)
		check_ok(check, "not known: the kernel does not tell its tc programs: %s", strerror(-error));
	else if (place == COMPANION_MISSING)
		check_add(check, FINDINGS_FAIL, name, command,
			"the tc program is not attached any more, so nobody verifies inner checksums, and damaged data can reach the services");
	else
		check_ok(check, "the tc program for inner checksums is attached (%s)", companion_name(place));
}
