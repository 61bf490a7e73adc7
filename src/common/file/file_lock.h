/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks that the kernel ends when the process ends, however it ends. flock(2) needs no right to write, so a lock is on
 * something that only those can open who could also replace what it protects. Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define FILE_LOCK_HOLDER_MAX 64

/*
 * Locks FILE.lock, beside the file that `path` names or links to. The lock file belongs to the owner of the folder, and
 * only those who may write to the folder may open it. A link is refused. Waits for at most wait_ms. Returns a
 * descriptor. -EWOULDBLOCK: another process has the lock, and `holder` names it: "process 12 (glb-healthcheck)". Or
 * another -errno.
 */
int file_lock(const char *path, unsigned wait_ms, char holder[FILE_LOCK_HOLDER_MAX]);

/*
 * The same for the folder `path` itself, where no file can be: on bpffs. Creates it, unless bpffs is read-only, as a
 * unit may see it. -EPERM: others may open it.
 */
int file_lock_folder(const char *path, unsigned wait_ms, char holder[FILE_LOCK_HOLDER_MAX]);

/* Ends a lock before the process ends, and removes FILE.lock or the folder, unless it has something in it. */
void file_unlock(const char *path, int lock);
void file_unlock_folder(const char *path, int lock);

/*
 * Sends a signal to the process that has the lock of a file, *owner (0: unknown), if that process runs the same program
 * as the caller. Returns 0; -ESRCH: there is no such process; or another -errno.
 */
int file_lock_signal(const char *path, int number, pid_t *owner);

/* Returns true unless no process ever locked the file, at least since the folder was made. */
bool file_lock_exists(const char *path);

/* Return true if a process has the lock, or if this user may not know. */
bool file_is_locked(const char *path);
bool file_folder_is_locked(const char *path);
