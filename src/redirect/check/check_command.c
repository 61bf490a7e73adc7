/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "redirect/check/check.h"
#include "redirect/check/subject.h"
#include "redirect/loader.h"

/* In the order in which they are printed. docs/reference/redirect.md lists them, too. */
static const struct check_entry checks[] = {
	{"privileges", check_privileges, false},
	{"kernel", check_kernel, false},
	{"bpffs", check_bpffs, false},
	{"interface", check_interface, false},
	{"program", check_program, true},
	{"checksums", check_checksums, true},
	{"transmit", check_transmit, true},
	{"offloads", check_offloads, true},
	{"mtu", check_mtu, true},
	{"allow", check_allow, true},
	{"vips", check_vips, true},
	{"arp", check_arp, true},
	{"rp_filter", check_rp_filter, true},
	{"firewall", check_firewall, true},
	{"conntrack", check_conntrack, true},
	{"iptables", check_iptables, false},
	{"syn_cookies", check_syn_cookies, false},
	{"backlog", check_backlog, false},
	{"udp", check_udp, false},
	{"bound_sockets", check_bound_sockets, true},
};

#define MAX_PRINTED 8 /* findings of one check */

/* Exit codes as of `glb-director-cli check`. */
static const int codes[] = {[CHECK_OK] = COMMAND_OK, [CHECK_WARN] = 1, [CHECK_FAIL] = 2};
static const char *const levels[] = {[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

enum { OPTION_VIP, OPTION_CONFIG_FILE, OPTION_JSON };

static const struct command_option options[] = {
	[OPTION_VIP] = {"vip", "ADDRESS,...", "the VIPs (default: allow_to, or the addresses of lo)"},
	[OPTION_CONFIG_FILE] = {"config-file", "FILE", "redirect.conf (default: that of the attached program)"},
	[OPTION_JSON] = {"json", NULL, "print the findings as JSON"},
	{0},
};

static void add(struct check *check, enum check_level level, const char *object, const char *command,
	const char *format, va_list args) __attribute__((format(printf, 5, 0)));

static void add(struct check *check, enum check_level level, const char *object, const char *command,
	const char *format, va_list args)
{
	char *text;

	check->counts[level]++;
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	json_array_append_new(
		check->findings, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "check", check->name, "level", levels[level],
					 "object", object, "text", text ? text : "out of memory", "command", command));
	free(text);
}

void check_add(
	struct check *check, enum check_level level, const char *object, const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(check, level, object, command, format, args);
	va_end(args);
}

void check_ok(struct check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(check, CHECK_OK, check->subject->interface, NULL, format, args);
	va_end(args);
}

static enum check_level worst_of(const struct check *check)
{
	return check->counts[CHECK_FAIL] ? CHECK_FAIL : check->counts[CHECK_WARN] ? CHECK_WARN : CHECK_OK;
}

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

static void print_finding(const json_t *finding)
{
	const char *object = text_of(finding, "object"), *command = text_of(finding, "command");

	command_print(6, "%-4s  %s: %s%s%s", text_of(finding, "level"), text_of(finding, "check"), object,
		*object ? ": " : "", text_of(finding, "text"));
	if (*command)
		printf("      run: %s\n", command);
}

static void print_more(const char *name, unsigned findings)
{
	if (findings > MAX_PRINTED)
		printf("      %s: %u more, which --json shows\n", name, findings - MAX_PRINTED);
}

static void print_text(const struct check *check)
{
	const char *name = "";
	unsigned findings = 0;
	const json_t *finding;
	size_t i;

	json_array_foreach(check->findings, i, finding)
	{
		if (strcmp(name, text_of(finding, "check")) != 0) {
			print_more(name, findings);
			name = text_of(finding, "check");
			findings = 0;
		}
		if (++findings <= MAX_PRINTED)
			print_finding(finding);
	}
	print_more(name, findings);
	printf("%s: %u failure%s, %u warning%s\n", check->subject->interface, check->counts[CHECK_FAIL],
		text_plural(check->counts[CHECK_FAIL]), check->counts[CHECK_WARN],
		text_plural(check->counts[CHECK_WARN]));
}

static void print_json(const struct check *check)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:O}", "interface", check->subject->interface, "version", GLB_VERSION,
		"result", levels[worst_of(check)], "findings", check->findings);

	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int check_all(const struct command_args *args, const struct check_subject *subject)
{
	struct check check = {.subject = subject, .findings = json_array()};
	int code;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		check.name = checks[i].name;
		if (subject->link || !checks[i].needs_interface)
			checks[i].run(&check);
	}
	if (args->options[OPTION_JSON])
		print_json(&check);
	else
		print_text(&check);
	code = codes[worst_of(&check)];
	json_decref(check.findings);
	/* If stdout failed, the user saw no result, so the exit code may not be that for warnings. */
	return fflush(stdout) != 0 || ferror(stdout) ? codes[CHECK_FAIL] : code;
}

static int run(const struct command_args *args)
{
	struct check_subject subject;
	int code = subject_read(
		loader_interface(args), args->options[OPTION_VIP], args->options[OPTION_CONFIG_FILE], &subject);

	/* An error that is no finding has the code of a failure, so that 1 always means warnings. */
	code = code == COMMAND_OK ? check_all(args, &subject) : codes[CHECK_FAIL];
	subject_free(&subject);
	return code;
}

const struct command check_command = {
	.name = "check",
	.run = run,
	.operands = "INTERFACE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "Say what on this host would break connections, and how to mend it",
	.options = options,
};
