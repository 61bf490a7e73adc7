/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `glb-redirect check`: looks at this host as a proxy, changes nothing, and says what would break connections. Each
 * check is a function that adds findings about the subject. Only check_command.c prints. One thread.
 */
#ifndef GLB_REDIRECT_CHECK_CHECK_H
#define GLB_REDIRECT_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

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
struct check_subject {
	const char *interface;
	struct links links;
	const struct link *link; /* the interface; NULL: there is none */
	const struct link *ip; /* the bridge or bond to which it belongs, or itself; NULL: there is no interface */
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

/* What the checks have found. */
struct check {
	const struct check_subject *subject;
	struct findings findings; /* as docs/reference/redirect.md describes them */
};

/* As findings_add(). */
void check_add(struct check *check, enum findings_level level, const char *object, const char *command,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a finding of the level FINDINGS_OK about the interface. */
void check_ok(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A member of the table of checks. */
struct check_entry {
	const char *name;
	void (*run)(struct check *check);
	bool needs_interface;
};

/* host.c */
void check_privileges(struct check *check);
void check_kernel(struct check *check);
void check_bpffs(struct check *check);
/* device.c */
void check_interface(struct check *check);
void check_offloads(struct check *check);
void check_transmit(struct check *check);
/* network.c */
void check_vips(struct check *check);
void check_rp_filter(struct check *check);
void check_arp(struct check *check);
void check_mtu(struct check *check);
/* firewall.c */
void check_firewall(struct check *check);
void check_conntrack(struct check *check);
void check_iptables(struct check *check);
/* Returns whether netfilter gives packets for the VIP another destination. */
bool firewall_translates(const struct check_subject *subject, const struct netprefix *vip);
/* sockets.c */
void check_syn_cookies(struct check *check);
void check_backlog(struct check *check);
void check_udp(struct check *check);
void check_bound_sockets(struct check *check);
/* Returns whether packets for a VIP can reach the socket. */
bool sockets_serve_vip(const struct diag_socket *socket, const struct check_subject *subject);
/* allowed.c */
void check_allow(struct check *check);
/* program.c */
void check_program(struct check *check);
void check_checksums(struct check *check);

#endif
