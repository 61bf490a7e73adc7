/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks signals before the constructors of libraries run. So a SIGHUP for a daemon that is just starting waits until
 * the daemon handles it, and does not kill it. The constructors of DPDK alone take longer than everything before them.
 * Only the time that the dynamic linker needs remains. A parent that blocks the signals before it executes the daemon
 * closes that gap, too, because the mask is inherited. Include it only in the file with main().
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EARLY_SIGNAL(number) (UINT64_C(1) << ((number)-1))

/* The kernel's set of signals, which has 64 bits. SIGHUP, SIGUSR1, SIGTERM, SIGINT. */
static const uint64_t early_signals_mask =
	EARLY_SIGNAL(SIGHUP) | EARLY_SIGNAL(SIGUSR1) | EARLY_SIGNAL(SIGTERM) | EARLY_SIGNAL(SIGINT);

/* Sanitizers and the constructors of the C library have not run yet, so this calls the kernel directly. */
__attribute__((no_sanitize("address", "undefined"))) static void early_signals_block(void)
{
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &early_signals_mask, NULL, sizeof(early_signals_mask));
}

__attribute__((section(".preinit_array"), used)) static void (*const early_signals_entry)(void) = early_signals_block;

/* For the modes of a program that end by the default action of these signals. */
static inline void early_signals_unblock(void)
{
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &early_signals_mask, NULL, sizeof(early_signals_mask));
}
