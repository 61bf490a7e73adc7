/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN tags that a kernel interface takes out before the director sees a frame. Main thread. */
#pragma once

#include "director/ports/port.h"

/*
 * AF_XDP has no place for a tag that the card takes out, so a tagged frame would pass for an untagged one. Switches
 * this offload of the kernel interface off, and logs that. Other drivers deliver the tag, and mbuf_make_writable() puts
 * it back.
 */
void vlan_offload_disable(const struct port *port);
