/* SPDX-License-Identifier: BSD-3-Clause */
#include "gue/gue_wire.h"
#include "redirect/check/check.h"
#include "redirect/loader.h"

static bool has_interface(const void *subject)
{
	return ((const struct check *)subject)->link;
}

/* In the order in which they are printed. docs/reference/redirect.md lists them, too. */
static const struct findings_check checks[] = {
	{"privileges", check_privileges, NULL},
	{"kernel", check_kernel, NULL},
	{"bpffs", check_bpffs, NULL},
	{"interface", check_interface, NULL},
	{"program", check_program, has_interface},
	{"checksums", check_checksums, has_interface},
	{"transmit", check_transmit, has_interface},
	{"offloads", check_offloads, has_interface},
	{"mtu", check_mtu, has_interface},
	{"allow", check_allow, has_interface},
	{"vips", check_vips, has_interface},
	{"arp", check_arp, has_interface},
	{"rp_filter", check_rp_filter, has_interface},
	{"firewall", check_firewall, has_interface},
	{"conntrack", check_conntrack, has_interface},
	{"iptables", check_iptables, NULL},
	{"syn_cookies", check_syn_cookies, NULL},
	{"backlog", check_backlog, NULL},
	{"udp", check_udp, NULL},
	{"bound_sockets", check_bound_sockets, has_interface},
	{0},
};

enum { OPTION_VIP, OPTION_CONFIG_FILE, OPTION_HOPS, OPTION_JSON };

static const struct command_option options[] = {
	[OPTION_VIP] = {"vip", "ADDRESS,...", "the VIPs (default: allow_to, or the addresses of lo)"},
	[OPTION_CONFIG_FILE] = {"config-file", "FILE", "redirect.conf (default: that of the attached program)"},
	[OPTION_HOPS] = {"hops", "N",
		"hops in a packet, for the MTU: hops of the tables, or twice as many with alt_hash_fields",
		GUE_USUAL_HOPS, 1, GUE_MAX_LATER_HOPS + 1},
	[OPTION_JSON] = {"json", NULL, "print the findings as JSON"},
	{0},
};

static int check_command_run(const struct command_args *args)
{
	struct check check;
	int code = subject_read(
		loader_interface(args), args->options[OPTION_VIP], args->options[OPTION_CONFIG_FILE], &check);

	check.hops = args->numbers[OPTION_HOPS];
	/* An error that is no finding has the code of a failure, so that 1 always means warnings. */
	if (code == COMMAND_OK)
		code = findings_run(checks, &check, "interface", check.interface, args->options[OPTION_JSON]);
	else
		code = FINDINGS_FAILED;
	subject_free(&check);
	return code;
}

const struct command check_command = {
	.name = "check",
	.run = check_command_run,
	.operands = "INTERFACE",
	.summary = "Say what on this host would break connections, and how to mend it",
	.options = options,
};
