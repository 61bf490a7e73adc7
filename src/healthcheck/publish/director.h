/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks a running director which table it uses. Blocks for a few seconds at most, so only the child of the reload hook
 * calls it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DIRECTOR_DIGEST_SIZE 17

struct director_table {
	/* 16 hexadecimal digits, as `glb-director-cli show` prints them. */
	char digest[DIRECTOR_DIGEST_SIZE];
	/* These four come from telemetry only, and are 0 or empty otherwise. */
	char path[256];
	uint64_t generation, failures;
	char error[256];
};

/* Runs a program with its output on stderr. Returns its exit code; 127: it did not run or was killed. */
int director_run(const char *const argv[]);

/*
 * Both return false if the director does not tell. The first one reads the status line of a systemd unit, because the
 * unit's telemetry socket is open only to root, and glb-healthcheck has a user of its own. The second one asks the
 * process by DPDK's telemetry.
 */
bool director_of_unit(const char *unit, struct director_table *table);
bool director_of_process(pid_t pid, struct director_table *table);
