/* SPDX-License-Identifier: BSD-3-Clause */
/* The VIPs that this proxy serves, as the attached programs know them. One thread. Prints nothing. */
#pragma once

#include "redirect/host/vips.h"

/*
 * Sets *vips to the addresses and prefixes that the programs of this network namespace allow (allow_to). If one allows
 * all local addresses, or if none is attached, those of lo are among them. Longer prefixes come first. Returns 0 or
 * -errno; -EPROTO: a program is of a version whose settings cannot be read.
 */
int served_read(struct vips *vips);
