/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a director on AF_XDP shares with the kernel: its interfaces, and the map of VIPs (bifurcate/vip_map.h) that
 * decides which packets it receives. In a build without eBPF these functions do nothing. Each function's comment names
 * its thread.
 */
#pragma once

#include "director/director.h"

/*
 * Main thread, before EAL starts. Claims the interface if the argument of --vdev is a port of net_af_xdp: removes the
 * program that a killed director left there. Creates the map of VIPs if it is missing and the port has our program.
 * Returns 0; or -errno after logging that another tool or another director uses the interface, or why there is no map.
 */
int bifurcation_claim(const char *vdev);

/*
 * Main thread once the ports run, then the control thread after each reload. Makes the map hold the VIPs of the table
 * in use, if a port has our program. An empty map stays empty, because `glb-bifurcate clear` takes a director out of
 * service; a warning says so. Logs errors: the director goes on with the VIPs in the map.
 */
void bifurcation_follow(const struct director *director);
