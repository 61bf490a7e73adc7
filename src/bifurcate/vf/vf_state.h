/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a PF and its VF are now, read from sysfs, /proc and `ip`. Plain data, so that plans can be made and tested
 * without a card. One thread.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bifurcate/vf/vf_conf.h"
#include "common/faults.h"
#include "common/netaddr.h"
#include "program/host/host.h"

#define VF_PCI_MAX    16 /* "0000:03:00.0" with NUL, and domains of 8 digits */
#define VF_DRIVER_MAX 32

#define VF_VFIO "vfio-pci"
#define VF_MLX5 "mlx5_core"

/* A process that has a VF open, such as the director. pid 0: there is none. */
struct vf_user {
	pid_t pid;
	char name[32];
	char vf[VF_PCI_MAX];
};

/* What `ip` says about the VF. */
struct vf_attributes {
	bool known;
	uint8_t mac[6];
	unsigned vlan;
	enum vf_switch spoof_check, trust; /* VF_UNSET: the driver does not say */
};

enum vf_eswitch {
	VF_ESWITCH_UNKNOWN,
	VF_ESWITCH_LEGACY,
	VF_ESWITCH_SWITCHDEV,
};

/* A rule in the card that steers a VIP to the VF. */
struct vf_rule {
	struct netprefix vip;
	uint32_t id; /* location of ethtool, or handle of tc */
};

/* All such rules, and what they need. */
struct vf_rules {
	struct vf_rule *items;
	size_t count;
	size_t total; /* those of ethtool, with the ones of others */
	bool enabled; /* the feature of the PF that rules need is on */
	/* For tc only. */
	bool representor_enabled;
	bool qdisc, representor_qdisc;
	bool out_v4, out_v6; /* what the VF sends leaves the card */
};

struct vf_state {
	/* The PF. */
	char pf[VF_PCI_MAX], interface[IF_NAMESIZE], driver[VF_DRIVER_MAX];
	bool up; /* the interface is switched on */
	bool vendor_driver; /* built outside the kernel: it has a version of its own */
	long total, count; /* VFs that it can have, and that it has */
	long offset, stride; /* of the VFs' addresses */
	bool autoprobe; /* the kernel binds new VFs to its driver */
	bool has_iommu, unsafe_no_iommu, has_vfio;
	bool other_bound; /* a driver has one of the other VFs */
	struct vf_user other_user; /* a process has one of the other VFs open */
	enum vf_eswitch eswitch;
	char eswitch_fault[160]; /* why devlink did not tell it; "": it did, or the card has no switchdev mode */
	/* The VF. */
	bool exists;
	char vf[VF_PCI_MAX]; /* if it does not exist: the address that it will have */
	char vf_driver[VF_DRIVER_MAX], vf_override[VF_DRIVER_MAX]; /* "": none */
	char vf_interface[IF_NAMESIZE]; /* of the kernel, if it is switched on */
	bool vf_interface_hidden; /* it is in another network namespace */
	char representor[IF_NAMESIZE]; /* "": none */
	bool representor_up;
	struct vf_attributes attributes;
	bool pf_has_mac; /* the PF has the MAC that the VF should have */
	long mac_vf; /* number of another VF that has it; -1: none */
	struct vf_user user;
	struct vf_rules rules; /* vf_rules_read() fills it */
};

/*
 * Reads the state of the PF that conf->device names. Returns 0, or -errno with an error in faults: there is no such
 * card, it has no VFs, or a program failed. On a copy of a host, `attributes` and `eswitch` stay unknown.
 */
int vf_state_read(const struct host *host, const struct vf_conf *conf, struct vf_state *state, struct faults *faults);

/* Makes the state that of new VFs, which is known without asking. */
void vf_state_predict(struct vf_state *state, unsigned count, bool autoprobe);

/* Returns the driver that DPDK needs for the VF. */
const char *vf_state_wanted_driver(const struct vf_state *state);
