/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls a function when a file may have changed. By inotify it watches the folder of the file and the folder of each
 * symbolic link that leads to it, so that it also sees a file, a link or a folder of releases that is replaced, and
 * rights that change. It also looks at the file every few seconds, for changes that inotify does not report: on another
 * host, in a folder further up. Changes that follow each other quickly lead to one call.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <sys/stat.h>

/* A name in a folder that leads to the file. */
struct watch_place {
	int descriptor; /* of the folder's inotify watch; -1: the folder cannot be watched */
	char *name;
};

#define WATCH_PLACES 42 /* 40 links, as many as the kernel follows, and the file */

struct watch {
	struct ev_loop *loop;
	char *path;
	int fd; /* the inotify instance */
	struct watch_place places[WATCH_PLACES];
	unsigned place_count;
	ev_io io;
	/* Runs after a change, until changed() is called: for this time, because whoever writes the file may not be
	 * done. */
	ev_timer settle;
	double settle_s;
	/* Runs until the next look at the file, whose last status was `seen`; all zeros: it could not be read. */
	ev_timer look;
	struct stat seen;
	void (*changed)(void *data);
	void *data;
};

/* Returns 0; or -errno, and there is nothing to close. changed() runs in the event loop's thread, and once soon after
 * this call, because the file may have changed since it was read. */
int watch_open(struct watch *watch, struct ev_loop *loop, const char *path, void (*changed)(void *data), void *data);
void watch_close(struct watch *watch);
