/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks a running director which table it uses. Blocks for a few seconds at most, so daemons call it in a child process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DIRECTOR_DIGEST_SIZE 17

struct director_table {
	/* 16 hexadecimal digits, as `glb-director-cli show` prints them. */
	char digest[DIRECTOR_DIGEST_SIZE];
	/* These two come from the status line of a unit only: the state of the director, and the worst reason. */
	char state[16], reason[256];
	/* These four come from telemetry only, and are 0 or empty otherwise. */
	char path[256];
	uint64_t generation, failures;
	char error[256];
};

/* Runs a program with its output on stderr. Returns its exit code; 127: it did not run or was killed. */
int director_run(const char *const argv[]);

/*
 * Both return false if the director does not tell. The first one reads the status line of a systemd unit, because the
 * unit's telemetry socket is open only to root, and programs that publish tables have users of their own. The second
 * one asks the process by DPDK's telemetry.
 */
bool director_of_unit(const char *unit, struct director_table *table);
bool director_of_process(pid_t pid, struct director_table *table);

/* Returns systemd's record of the unit's last reload, with its process and exit code, malloc'd; NULL: not known. */
char *director_unit_reload(const char *unit);
