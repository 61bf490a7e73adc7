/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the routing daemon do what each VIP should be. One thread; blocks while programs run. */
#pragma once

#include "announce/daemon.h"

/*
 * Runs the commands for VIPs that should change, those to withdraw first, and at times checks that the routing daemon
 * still does what it was told. A command that fails is tried again later; the other VIPs go on. Returns false if a VIP
 * may not be as it should.
 */
bool actions_run(struct daemon *daemon);
