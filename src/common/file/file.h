/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and replaces whole files. Errors go to the caller's faults. Thread-safe, except for file_replace(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/faults.h"

/*
 * Reads the regular file `path` of at most `max` bytes. Makes a copy instead of a mapping, so that truncating the file
 * cannot kill the reader. `what` names the content in the error about the size: "a table". Returns 0, and *text
 * (malloc'd, the caller frees) has *size bytes and a NUL after them. Or -errno with an error in faults, and *text is
 * NULL.
 */
int file_read(const char *path, const char *what, size_t max, char **text, size_t *size, struct faults *faults);

/*
 * Reads at most `max` bytes from the start of the file, without waiting for the writer of a FIFO. Returns 0 and the
 * number of bytes, or -errno.
 */
int file_read_head(const char *path, void *head, size_t max, size_t *size);

/*
 * Replaces the file `path`, or creates it, with `size` bytes, completely or not at all: it writes a temporary file in
 * the same folder, calls fsync(2) and rename(2), and then fsync(2) for the folder. Returns 0; or -errno, then `path` is
 * unchanged, no temporary file is left, and an error in faults says which step failed.
 *
 * - Mode, ACL, label, user attributes and, if permitted, owner of an existing file are kept. If its group cannot be
 *   kept, the new group only gets the rights of others. A new file has the mode that the umask allows. Tables hold
 *   secret keys, so group and others get no more rights to a new file than to `source`, the file from which it was made
 *   (NULL: none).
 * - A symbolic link stays, and the file that it points to is replaced or created, in that file's folder. Anything but a
 *   regular file (a device, a folder) is refused.
 * - A writer that is killed leaves its temporary file (.glb-unfinished-*). The next writer in the folder removes it.
 * - No other thread may create files at the same time, because the umask can only be read by setting it.
 */
int file_replace(const char *path, const char *source, const void *bytes, size_t size, struct faults *faults);

/* The same, but the new file gets mode, ACL and, if permitted, owner of the file `like`, whether `path`
 * exists or not. */
int file_replace_like(const char *path, const char *like, const void *bytes, size_t size, struct faults *faults);

/* The same as file_replace(), but -ESTALE if the file is not as file_look() has shown it before. */
int file_replace_known(const char *path, const struct stat *known, const void *bytes, size_t size, struct faults *faults);

/* After a rename in the folder has succeeded. A failure, which is a warning, only means that a power failure may undo
 * it. */
void file_sync_folder(const char *folder, struct faults *faults);

/*
 * Returns the path of the file that the functions of this file read or replace: without symbolic links at its end.
 * malloc'd, the caller frees. NULL and errno: there is a loop of links, a folder is missing, or (EXDEV) this user is
 * root, and a link of another user leads to what is not theirs: root works in folders of glb-healthcheck.
 */
char *file_follow(const char *path);

/* Returns why a file cannot be opened, from the -errno of one of these functions. */
const char *file_reason(int error);

/* Sets *status; to zeros if there is no such file, or if it cannot be read. */
void file_look(const char *path, struct stat *status);

/* Returns true if both are the status of the same file, and nobody has written to it in between. */
bool file_is_unchanged(const struct stat *a, const struct stat *b);
/* The same, and nobody has changed its rights or its names. */
bool file_is_untouched(const struct stat *a, const struct stat *b);

/* Returns true if both paths name the same file, so that a write to one path changes what the other one reads. The file
 * need not exist. */
bool file_is_same(const char *a, const char *b);
