/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the eBPF programs on the interface. */
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "redirect/check/check.h"
#include "redirect/kernel/companion.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

#define REMOVAL_MAX     512
#define NO_XDP          "not known: the kernel does not tell its XDP program: "
#define UNIT_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_."

static const struct finding dispatcher = {FINDINGS_FAIL, "{2}",
	"the dispatcher of libxdp (id {1}) is attached, which glb-redirect does not join: glb-redirect next runs another program after this one"};
static const struct finding other_program = {
	FINDINGS_FAIL, "{2}", "another XDP program (id {1}) is attached, which glb-redirect attach does not replace"};
static const struct finding deleted = {FINDINGS_FAIL, "glb-redirect detach {0}",
	"the program was attached to an interface of this name that was deleted: attach it again after this command"};
static const struct finding renamed = {FINDINGS_FAIL, "glb-redirect detach {0}",
	"the program is attached to the interface that had this name, and is called {1} now"};
static const struct finding elsewhere = {FINDINGS_FAIL, NULL,
	"the program of this name belongs to another network namespace: mount a separate bpffs in each namespace"};
static const struct finding other_version = {FINDINGS_WARN, "systemctl reload {2}",
	"the attached program has version {1}, but " GLB_VERSION
	" is installed: replace it (without systemd: glb-redirect attach {0} with the same options)"};
static const struct finding no_companion = {FINDINGS_FAIL, "glb-redirect reload {0}",
	"the tc program is not attached any more, so nobody verifies inner checksums, and damaged data can reach the services"};

static const struct finding without_numbers = {FINDINGS_WARN, NULL, LOADER_WITHOUT_NUMBERS};

/* No program of glb-redirect is pinned for the interface. */
static void check_unpinned(const struct check *check)
{
	const char *name = check->interface;
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	char command[REMOVAL_MAX];
	int error = bpf_xdp_query((int)check->link->index, 0, &query);

	if (error)
		findings_ok(name, NO_XDP "%s", strerror(-error));
	else if (query.attach_mode == XDP_ATTACHED_NONE)
		findings_ok(name, "no XDP program is attached: glb-redirect attach %s", name);
	else {
		explain_removal(command, sizeof(command), name, query.prog_id);
		findings_add(explain_is_dispatcher(name, query.prog_id) ? &dispatcher : &other_program, name,
			findings_value("%u", query.prog_id), command);
	}
}

static void check_place(const struct check *check, const struct pins *pins)
{
	const char *name = check->interface;
	struct pins_location location;
	int error = pins_locate(name, pins, &location);

	if (error)
		findings_ok(name, NO_XDP "%s", strerror(-error));
	else if (location.place == PINS_GONE)
		findings_add(&deleted, name);
	else if (location.place == PINS_RENAMED)
		findings_add(&renamed, name, location.name);
	else if (location.place == PINS_ELSEWHERE)
		findings_add(&elsewhere, name);
}

static void check_version(const struct check *check)
{
	const char *version = findings_value("%.16s", check->settings.version), *name = check->interface;
	/* systemd escapes the other characters. */
	bool plain = strspn(name, UNIT_CHARACTERS) == strlen(name);

	if (strncmp(check->settings.version, GLB_VERSION, sizeof(check->settings.version)) == 0)
		findings_ok(name, "attached in %s mode, version %s", check->generic ? "generic" : "native", version);
	else
		findings_add(&other_version, name, *version ? version : "unknown",
			plain ? findings_value("glb-redirect@%s", name)
			      : findings_value("\"$(systemd-escape --template=glb-redirect@.service '%s')\"", name));
	if (check->settings.without_numbers)
		findings_add(&without_numbers, name);
}

void check_program(void *subject)
{
	const struct check *check = subject;
	struct pins pins;
	int error = pins_open(check->interface, &pins);

	if (error == -ENOENT)
		check_unpinned(check);
	else if (error)
		findings_ok(
			check->interface, "not known: the pins in " PINS_ROOT " cannot be read: %s", strerror(-error));
	else if (check->attached)
		check_version(check);
	else
		check_place(check, &pins);
	if (!error)
		pins_close(&pins);
}

void check_checksums(void *subject)
{
	const struct check *check = subject;
	const char *name = check->interface;
	enum companion_place place;
	int error;

	if (!check->attached) {
		findings_ok(name, "attach also attaches the tc program for inner checksums");
		return;
	}
	error = companion_find(name, check->link->index, &place);
	if (error)
		findings_ok(name, "not known: the kernel does not tell its tc programs: %s", strerror(-error));
	else if (place == COMPANION_MISSING)
		findings_add(&no_companion, name);
	else
		findings_ok(name, "the tc program for inner checksums is attached (%s)", companion_name(place));
}
