/* SPDX-License-Identifier: BSD-3-Clause */
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

enum { OPTION_VIP, OPTION_CONFIG_FILE, OPTION_JSON };

static const struct command_option options[] = {
	[OPTION_VIP] = {"vip", "ADDRESS,...", "the VIPs (default: allow_to, or the addresses of lo)"},
	[OPTION_CONFIG_FILE] = {"config-file", "FILE", "redirect.conf (default: that of the attached program)"},
	[OPTION_JSON] = {"json", NULL, "print the findings as JSON"},
	{0},
};

void check_add(struct check *check, enum findings_level level, const char *object, const char *command,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	findings_vadd(&check->findings, level, object, command, format, args);
	va_end(args);
}

void check_ok(struct check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	findings_vadd(&check->findings, FINDINGS_OK, check->subject->interface, NULL, format, args);
	va_end(args);
}

static int check_all(const struct command_args *args, const struct check_subject *subject)
{
	struct check check = {.subject = subject};
	int code;

	findings_open(&check.findings);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		check.findings.check = checks[i].name;
		if (subject->link || !checks[i].needs_interface)
			checks[i].run(&check);
	}
	code = findings_print(&check.findings, "interface", subject->interface, args->options[OPTION_JSON]);
	findings_close(&check.findings);
	return code;
}

static int check_command_run(const struct command_args *args)
{
	struct check_subject subject;
	int code = subject_read(
		loader_interface(args), args->options[OPTION_VIP], args->options[OPTION_CONFIG_FILE], &subject);

	/* An error that is no finding has the code of a failure, so that 1 always means warnings. */
	code = code == COMMAND_OK ? check_all(args, &subject) : FINDINGS_FAILED;
	subject_free(&subject);
	return code;
}

const struct command check_command = {
	.name = "check",
	.run = check_command_run,
	.operands = "INTERFACE",
	.summary = "Say what on this host would break connections, and how to mend it",
	.options = options,
};
