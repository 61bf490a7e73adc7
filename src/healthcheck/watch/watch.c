/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/watch/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/file/file.h"
#include "program/timer.h"

#define SETTLE_S 0.1
/* Time between two looks at the file. */
#define LOOK_S 5.0

#define EVENTS                                                                                               \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | \
		IN_MOVE_SELF | IN_ONLYDIR)

/* Watches the folder for a name in it. A folder that cannot be watched is left to the looks. */
static void add_place(struct watch *watch, const char *folder, const char *name)
{
	struct watch_place *place = &watch->places[watch->place_count];

	if (watch->place_count == WATCH_PLACES)
		return;
	place->name = strdup(name);
	place->descriptor = place->name ? inotify_add_watch(watch->fd, *folder ? folder : ".", EVENTS) : -1;
	watch->place_count++; /* also without a watch, so that a loop of links ends */
}

static bool has_descriptor(const struct watch_place *places, unsigned count, int descriptor)
{
	for (unsigned i = 0; i < count; i++)
		if (places[i].descriptor == descriptor)
			return true;
	return false;
}

/*
 * Follows one step of a path: takes the first name from `rest` and appends it to `at`, the path so far, which ends with
 * a slash unless it is empty. If that is a symbolic link, its target takes the place of the name. Returns false at the
 * end.
 */
static bool follow_step(struct watch *watch, char at[PATH_MAX], char rest[PATH_MAX])
{
	size_t used = strlen(at), size;
	char target[PATH_MAX], name[NAME_MAX + 1], *tail;
	ssize_t length;

	tail = rest + strspn(rest, "/");
	size = strcspn(tail, "/");
	if (size == 0 || size > NAME_MAX || used + size + 2 > PATH_MAX)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)size, tail);
	snprintf(at + used, PATH_MAX - used, "%s", name);
	tail += size;
	length = readlink(at, target, sizeof(target) - 1);
	if (length < 0 && errno == EINVAL && *tail) {
		/* A folder on the way, which stays what it is unless somebody moves it: that is left to the looks. */
		strcat(at, "/");
		memmove(rest, tail, strlen(tail) + 1);
		return true;
	}
	at[used] = '\0';
	add_place(watch, at, name);
	if (length < 0)
		return false; /* the file, or what is missing */
	target[length] = '\0';
	if (target[0] == '/')
		strcpy(at, "/");
	if ((size_t)length + strlen(tail) + 1 > PATH_MAX)
		return false;
	memmove(rest + length, tail, strlen(tail) + 1); /* empty, or begins with a slash */
	memcpy(rest, target, (size_t)length);
	return true;
}

/* Finds anew which folders lead to the file, and watches them. */
static void watch_places(struct watch *watch)
{
	struct watch_place old[WATCH_PLACES];
	unsigned old_count = watch->place_count;
	char at[PATH_MAX], rest[PATH_MAX];

	memcpy(old, watch->places, sizeof(old));
	watch->place_count = 0;
	snprintf(at, sizeof(at), "%s", watch->path[0] == '/' ? "/" : "");
	snprintf(rest, sizeof(rest), "%s", watch->path);
	while (watch->place_count < WATCH_PLACES && follow_step(watch, at, rest))
		;
	for (unsigned i = 0; i < old_count; i++) {
		if (!has_descriptor(watch->places, watch->place_count, old[i].descriptor))
			inotify_rm_watch(watch->fd, old[i].descriptor);
		free(old[i].name);
	}
}

static void settle(struct watch *watch, double after_s)
{
	if (ev_is_active(&watch->settle) || ev_is_pending(&watch->settle))
		return;
	timer_restart(watch->loop, &watch->settle, after_s);
}

/* The places come first: a change after that is an event, and a change before it is in what changed() reads. */
static void on_settle(struct ev_loop *, ev_timer *timer, int)
{
	struct watch *watch = timer->data;

	watch_places(watch);
	file_look(watch->path, &watch->seen);
	watch->changed(watch->data);
}

static void on_look(struct ev_loop *, ev_timer *timer, int)
{
	struct watch *watch = timer->data;
	struct stat now;

	file_look(watch->path, &now);
	if (!file_is_untouched(&now, &watch->seen))
		settle(watch, 0);
}

/* Events without a name are about a folder itself. */
static bool concerns(const struct watch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_IGNORED)
		return false;
	if (!event->len)
		return true;
	for (unsigned i = 0; i < watch->place_count; i++)
		if (watch->places[i].descriptor == event->wd && strcmp(watch->places[i].name, event->name) == 0)
			return true;
	return false;
}

static void on_event(struct ev_loop *, ev_io *io, int)
{
	struct watch *watch = io->data;
	_Alignas(struct inotify_event) char bytes[4096];
	const struct inotify_event *event;
	ssize_t size;

	while ((size = read(watch->fd, bytes, sizeof(bytes))) > 0)
		for (char *at = bytes; at < bytes + size; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			if (concerns(watch, event))
				settle(watch, watch->settle_s);
		}
}

int watch_open(struct watch *watch, struct ev_loop *loop, const char *path, void (*changed)(void *data), void *data)
{
	int error;

	*watch = (struct watch){
		.loop = loop, .changed = changed, .data = data, .path = strdup(path), .settle_s = SETTLE_S};
	if (!watch->path)
		return -ENOMEM;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		error = errno;
		free(watch->path);
		watch->path = NULL;
		return -error;
	}
	ev_io_init(&watch->io, on_event, watch->fd, EV_READ);
	ev_timer_init(&watch->settle, on_settle, 0, 0);
	ev_timer_init(&watch->look, on_look, LOOK_S, LOOK_S);
	watch->io.data = watch->settle.data = watch->look.data = watch;
	ev_io_start(loop, &watch->io);
	ev_timer_start(loop, &watch->look);
	settle(watch, 0);
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch->path)
		return;
	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->settle);
	ev_timer_stop(watch->loop, &watch->look);
	for (unsigned i = 0; i < watch->place_count; i++)
		free(watch->places[i].name);
	close(watch->fd);
	free(watch->path);
}
