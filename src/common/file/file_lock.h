/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says who writes a file, for as long as a process lives: a lock on FILE.lock, beside the file that FILE names or links to.
 * The kernel unlocks it when the process ends, however it ends. Lock files stay. Thread-safe.
 */
#ifndef GLB_COMMON_FILE_LOCK_H
#define GLB_COMMON_FILE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Locks the file until the process ends, or until it closes the descriptor that this returns. -EWOULDBLOCK: another process
 * has the lock; then *owner is its number, or 0 if that is not known. Or another -errno.
 */
int file_lock(const char *path, pid_t *owner);

/* Returns the process that has the lock; 0: there is none, or this user may not know. */
pid_t file_lock_owner(const char *path);

/* Returns true unless no process ever locked the file, at least since the folder was made. */
bool file_lock_exists(const char *path);

/* Returns true if a process has the lock, or if this user may not know. */
bool file_is_locked(const char *path);

#endif
