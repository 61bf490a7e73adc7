/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Explains errors of the kernel. Each function prints one message that names the cause and what to do,
 * and returns COMMAND_FAILED.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `error` is the -errno of the operation that failed. */

/* An operation on the interface's folder in bpffs, or with NULL on the folder of all interfaces. */
int explain_folder(const char *interface, int error);
/* Loading the program. debug: libbpf's messages were printed already. */
int explain_load(int error, bool debug);
/* Attaching the program to the interface, or replacing it. */
int explain_attach(const char *interface, bool generic, int error);
/* Finding, attaching or replacing the tc program of the interface. */
int explain_companion(const char *interface, int error);
/* Reading which XDP program the interface has. */
int explain_query(const char *interface, int error);

/* The interface's pinned link belongs to another network namespace (PINS_ELSEWHERE). */
int explain_elsewhere(const char *interface);

/*
 * The interface has an XDP program that is not pinned in its folder. It belongs to another tool, or
 * glb-redirect attached it when the interface had another name.
 */
int explain_foreign(const char *interface, uint32_t program_id);

/*
 * Whether the XDP program is the dispatcher of libxdp, which calls the programs of other tools. It is known by the
 * folder in which libxdp pins these programs, because reading the name of a program needs CAP_SYS_ADMIN.
 */
bool explain_is_dispatcher(const char *interface, uint32_t program_id);

/*
 * Prints nothing: writes the command that removes an XDP program of another tool. It depends on how the program is
 * attached. Without CAP_SYS_ADMIN, which listing the links needs, the text names both commands.
 */
void explain_removal(char *remedy, size_t size, const char *interface, uint32_t program_id);
