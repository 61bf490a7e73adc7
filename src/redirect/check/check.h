/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-redirect check`: looks at this host as a proxy, changes nothing, and says what would break connections. Each
 * check is a function that adds findings. One thread.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "common/netaddr.h"
#include "program/findings.h"
#include "redirect/host/addresses.h"
#include "redirect/host/diag.h"
#include "redirect/config/redirect_conf.h"
#include "redirect/host/links.h"
#include "redirect/host/vips.h"
#include "redirect/redirect.h"

/* What the checks look at. Read once, before the first check. */
struct check {
	const char *interface;
	uint32_t hops; /* that a packet of a director can have */
	struct links links;
	const struct net_link *link; /* the interface; NULL: there is none */
	const struct net_link *ip; /* the bridge or bond to which it belongs, or itself; NULL: there is no interface */
	struct addresses addresses; /* of this host */
	struct vips vips; /* that this proxy serves; empty: not known */
	/* redirect.conf: the file that the command line names, or that of the attached program; "": none. */
	const char *config_file;
	struct redirect_conf conf;
	struct faults faults; /* of the file */
	/* How the program is attached, or would be attached with default options. */
	bool attached, generic;
	bool hidden; /* how it is attached cannot be read */
	struct redirect_settings settings;
	/* The sockets of this host; empty if sockets_error is not 0. */
	struct diag_sockets sockets;
	int sockets_error;
	/* The result of ruleset_read(). */
	json_t *ruleset;
	int ruleset_error, ruleset_tables;
};

/*
 * vips: addresses and prefixes with commas between them, or NULL. config_file: a path, or NULL; borrowed. Prints an
 * error if the VIPs are none. Returns an exit code. The caller calls subject_free() in either case.
 */
int subject_read(const char *interface, const char *vips, const char *config_file, struct check *check);
void subject_free(struct check *check);

/* The subject of all checks is a struct check. */
findings_look check_privileges, check_kernel, check_bpffs; /* host.c */
findings_look check_interface, check_offloads, check_transmit; /* device.c */
findings_look check_program, check_checksums; /* program.c */
findings_look check_vips, check_rp_filter, check_arp, check_mtu; /* network.c */
findings_look check_allow; /* allowed.c */
findings_look check_firewall, check_conntrack, check_iptables; /* firewall.c */
findings_look check_syn_cookies, check_backlog, check_udp, check_bound_sockets; /* sockets.c */

/* firewall.c: returns whether netfilter gives packets for the VIP another destination. */
bool firewall_translates(const struct check *check, const struct netprefix *vip);
/* sockets.c: returns whether packets for a VIP can reach the socket. */
bool sockets_serve_vip(const struct diag_socket *socket, const struct check *check);
