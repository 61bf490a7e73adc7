/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the kernel's refusals into words. Each prints, and returns COMMAND_FAILED. */
#ifndef GLB_REDIRECT_EXPLAIN_H
#define GLB_REDIRECT_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* error: -errno of the step of that name. */
int explain_folder(const char *interface, int error); /* NULL: the one of all interfaces */
int explain_load(int error, bool debug);
int explain_attach(const char *interface, bool generic, int error);
int explain_query(const char *interface, int error); /* what program an interface has */

/* The link that is pinned for the interface is in another network namespace. */
int explain_elsewhere(const char *interface);

/* The interface runs an XDP program that is not pinned for it: somebody else's, or ours by another name. */
int explain_foreign(const char *interface, uint32_t program_id);

#endif
