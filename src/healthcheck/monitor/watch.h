/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls a function when a file may have changed. It watches the file's folder by inotify, so that it also sees a file
 * that is replaced, deleted or a symbolic link. Changes that follow each other quickly lead to one call.
 */
#ifndef GLB_HEALTHCHECK_MONITOR_WATCH_H
#define GLB_HEALTHCHECK_MONITOR_WATCH_H

#include <ev.h>
#include <stdbool.h>

struct watch {
	struct ev_loop *loop;
	char *folder;
	/* The inotify instance, and the watch of the folder in it; descriptor -1: the folder does not exist. */
	int fd, descriptor;
	ev_io io;
	/* Runs after a change, until changed() is called. */
	ev_timer settle;
	/* Runs until the next attempt to watch a folder that does not exist. */
	ev_timer again;
	void (*changed)(void *data);
	void *data;
};

/* Returns 0; or -errno, and there is nothing to close. changed() runs in the event loop's thread. */
int watch_open(struct watch *watch, struct ev_loop *loop, const char *path, void (*changed)(void *data), void *data);
void watch_close(struct watch *watch);

#endif
