/* SPDX-License-Identifier: BSD-3-Clause */
/* What a network device does by itself, as ethtool -k shows it, and what its driver can do for XDP. Plain data; one
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct features {
	bool lro, gro_hw; /* switched on */
};

/* Returns false if the device tells nothing. */
bool features_read(const char *interface, struct features *features);

/* Reads whether frames that XDP redirects can leave by this interface (ndo_xdp_xmit). False: not known before Linux
 * 6.3. */
bool features_xdp_transmit(uint32_t ifindex, bool *can);
