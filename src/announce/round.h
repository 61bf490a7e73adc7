/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides what each VIP should be: the director, the probe and the operator each have a say. One thread. */
#pragma once

#include "announce/daemon.h"

/* Makes the VIPs those of the configuration, or of the binds of the director if they are known. Returns false: out of
 * memory. */
bool round_use_vips(struct daemon *daemon);

/* Asks the director and the probe, and reads the operator's switch. */
void round_ask(struct daemon *daemon);

/* Returns what the VIP should be now; VIPS_UNKNOWN: it stays as it is. *reason: why; valid until the next call. */
enum vips_state round_wish(const struct daemon *daemon, const struct vip *vip, const char **reason);
