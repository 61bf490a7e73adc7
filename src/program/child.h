/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes that the daemon starts may have: no capability, descriptor or signal setting of the daemon. */
#ifndef GLB_PROGRAM_CHILD_H
#define GLB_PROGRAM_CHILD_H

/*
 * For the daemon at start: programs that it runs do not get CAP_NET_RAW, which is for its own raw sockets. The daemon
 * keeps the capability.
 */
void child_withhold_capability(void);

/*
 * For a child process after fork(): makes it the leader of its own process group, resets signals, connects stdin to
 * `input` (-1: /dev/null), and stdout and stderr to `output`. Closes all descriptors from `first_closed`, at least 3.
 */
void child_prepare(int input, int output, unsigned first_closed);

#endif
