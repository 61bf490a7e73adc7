/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/monitor/watch.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Time between a change and the call, because whoever writes the file may not be done. */
#define SETTLE_S 0.1
/* Time between attempts to watch a folder that does not exist. */
#define AGAIN_S 1.0

#define EVENTS                                                                                                  \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | \
		IN_ONLYDIR)

static void start_timer(struct watch *watch, ev_timer *timer, double after_s)
{
	ev_timer_stop(watch->loop, timer);
	ev_timer_set(timer, after_s, 0);
	ev_timer_start(watch->loop, timer);
}

static void watch_folder(struct watch *watch)
{
	watch->descriptor = inotify_add_watch(watch->fd, watch->folder, EVENTS);
	if (watch->descriptor < 0)
		start_timer(watch, &watch->again, AGAIN_S);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct watch *watch = timer->data;

	(void)loop;
	(void)events;
	watch_folder(watch);
	if (watch->descriptor >= 0)
		start_timer(watch, &watch->settle, 0);
}

static void on_settle(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct watch *watch = timer->data;

	(void)loop;
	(void)events;
	watch->changed(watch->data);
}

static void on_event(struct ev_loop *loop, ev_io *io, int events)
{
	struct watch *watch = io->data;
	_Alignas(struct inotify_event) char bytes[4096];
	const struct inotify_event *event;
	ssize_t size;

	(void)loop;
	(void)events;
	while ((size = read(watch->fd, bytes, sizeof(bytes))) > 0) {
		for (char *at = bytes; at < bytes + size; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			if (event->mask & IN_MOVE_SELF)
				inotify_rm_watch(watch->fd, event->wd);
			if (event->mask & IN_IGNORED)
				start_timer(watch, &watch->again, 0);
		}
	}
	if (!ev_is_active(&watch->settle))
		start_timer(watch, &watch->settle, SETTLE_S);
}

int watch_open(struct watch *watch, struct ev_loop *loop, const char *path, void (*changed)(void *data), void *data)
{
	char *copy = strdup(path);

	*watch = (struct watch){.loop = loop, .changed = changed, .data = data};
	if (copy)
		watch->folder = strdup(dirname(copy));
	free(copy);
	if (!watch->folder)
		return -ENOMEM;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		int error = errno;

		free(watch->folder);
		watch->folder = NULL;
		return -error;
	}
	ev_io_init(&watch->io, on_event, watch->fd, EV_READ);
	ev_timer_init(&watch->settle, on_settle, 0, 0);
	ev_timer_init(&watch->again, on_again, 0, 0);
	watch->io.data = watch->settle.data = watch->again.data = watch;
	ev_io_start(loop, &watch->io);
	watch_folder(watch);
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch->folder)
		return;
	ev_io_stop(watch->loop, &watch->io);
	ev_timer_stop(watch->loop, &watch->settle);
	ev_timer_stop(watch->loop, &watch->again);
	close(watch->fd);
	free(watch->folder);
}
