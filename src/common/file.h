/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files in and out of memory. Errors go to the caller's faults. Thread-safe, but for file_replace(). */
#ifndef GLB_COMMON_FILE_H
#define GLB_COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"

/*
 * Reads the regular file `path` of at most `max` bytes. A copy, not a mapping: a file that somebody truncates must not kill
 * the reader. `what` names the content in the error about the size: "a table". 0: *text (malloc'd, the caller frees; never
 * NULL) has *size bytes and a NUL behind them. Else -errno with an error in faults, and *text is NULL.
 */
int file_read(const char *path, const char *what, size_t max, char **text, size_t *size, struct faults *faults);

/*
 * Puts `size` bytes at `path`, whole or not at all: a temporary name in the same folder, fsync, rename, fsync of the folder.
 * Mode and, where permitted, owner of an existing file are kept. A new file has the mode that the umask allows; since keys
 * are secret, nobody but its owner may do more with it than with `source`, the file that it was made from (NULL: none). Not
 * while other threads make files: the umask is read by setting it. A symbolic link is itself replaced by the file; its
 * target stays. Anything but a regular file (a device, a folder) is refused. On failure `path` is as it was, no temporary
 * file stays, and an error in faults says which step failed. A writer that is killed leaves its temporary file (.glb-*);
 * the next one in that folder removes it. 0 or -errno.
 */
int file_replace(const char *path, const char *source, const void *bytes, size_t size, struct faults *faults);

/* True when both paths name one file. It need not exist: writing to one path would change what the other one holds. */
bool file_is_same(const char *a, const char *b);

#endif
