/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of one physical function (PF) of a card, and of its virtual function (VF) that the director drives:
 * bifurcate.d/NAME.conf in libconfig syntax. The caller owns a struct and calls vf_conf_free(). One thread.
 */
#pragma once

#include <stdint.h>

#include "bifurcate/vips.h"
#include "common/faults.h"
#include "conf/conf_key.h"

#define VF_CONF_MAX_VFS 256

enum vf_steering {
	VF_STEERING_NEXT_HOP, /* the routers send to the MAC of the VF; no rule in the card */
	VF_STEERING_RULES, /* a rule for each VIP, as the driver of the card has them */
};

/* A property that the tool leaves alone unless the configuration has it. */
enum vf_switch {
	VF_UNSET,
	VF_OFF,
	VF_ON,
};

struct vf_conf {
	char *device; /* PCI address of the PF, or the name of its interface */
	unsigned vf; /* number of the VF */
	unsigned num_vfs; /* VFs of the PF; 0: those that there are, or else as few as possible */
	uint8_t mac[6]; /* of the VF */
	unsigned vlan; /* tag that the card adds to and removes from the packets of the VF; 0: none */
	enum vf_switch spoof_check, trust;
	enum vf_steering steering;
	struct vips vips; /* with rules: those of the forwarding table, which vf_conf_read() does not read */
};

/* Returns 0; or -errno with errors in faults, whose `file` the caller has set, and the struct is empty. */
int vf_conf_read(const char *path, struct vf_conf *conf, struct faults *faults);
void vf_conf_free(struct vf_conf *conf);

/* Returns the key whose value only one of both may have, or NULL: a PF has one configuration, and a VF has a MAC of its
 * own. */
const char *vf_conf_clash(const struct vf_conf *one, const struct vf_conf *other);

/* The keys of a bifurcate.d/NAME.conf. */
extern const struct conf_key vf_conf_keys[];
