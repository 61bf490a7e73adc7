/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells when a file may have changed: its folder is watched by inotify, so that a file that is
 * replaced, deleted or a symbolic link is noticed, too. A bunch of changes is told once.
 */
#ifndef GLB_HEALTHCHECK_WATCH_H
#define GLB_HEALTHCHECK_WATCH_H

#include <ev.h>
#include <stdbool.h>

struct watch {
	struct ev_loop *loop;
	char *folder;
	int fd, descriptor;
	ev_io io;
	ev_timer settle, again;
	void (*changed)(void *data);
	void *data;
};

/* 0; or -errno, and there is nothing to close. */
int watch_open(struct watch *watch, struct ev_loop *loop, const char *path, void (*changed)(void *data), void *data);
void watch_close(struct watch *watch);

#endif
