/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts DPDK's EAL, and turns what it prints about a wrong option into one error. Main thread only. */
#pragma once

/*
 * Runs rte_eal_init(). Returns 0; -EINVAL after logging which option is wrong; or -EIO: EAL failed later, its messages
 * were printed, and rte_errno may say why.
 */
int eal_start(int argc, char **argv);
