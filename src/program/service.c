/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/service.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "common/clock.h"

#define MESSAGE_SIZE 1200
#define PATIENCE     ((struct timeval){.tv_sec = 2}) /* for a service manager that does not read now */

/* Returns the size of the address, or 0 if no service manager has given one. */
static socklen_t find_manager(struct sockaddr_un *address)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t size = name ? strlen(name) : 0;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (size < 2 || size >= sizeof(address->sun_path) || (name[0] != '/' && name[0] != '@'))
		return 0;
	memcpy(address->sun_path, name, size);
	if (name[0] == '@') /* an abstract socket: its name begins with a null byte, and none ends it */
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] == '/'));
}

/*
 * Sends a message like sd_notify(3), which would wait for ever if the service manager has stopped reading. Then nothing
 * else would stop the program but SIGKILL. Only the first message that is not read costs time.
 */
__attribute__((format(printf, 1, 2))) static bool notify(const char *format, ...)
{
	static bool stuck; /* the last message was not sent */
	struct sockaddr_un address;
	struct timeval patience = PATIENCE;
	socklen_t size = find_manager(&address);
	char message[MESSAGE_SIZE];
	va_list args;
	bool sent;
	int fd;

	if (!size)
		return true;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	sent = sendto(fd, message, strlen(message),
		       MSG_NOSIGNAL | (__atomic_load_n(&stuck, __ATOMIC_RELAXED) ? MSG_DONTWAIT : 0),
		       (const struct sockaddr *)&address, size) >= 0;
	close(fd);
	__atomic_store_n(&stuck, !sent, __ATOMIC_RELAXED);
	return sent;
}

bool service_ready(void)
{
	return notify("READY=1");
}

static const char *clean(const char *status, char buf[1024])
{
	size_t i = 0;

	for (; status[i] && i < 1023; i++)
		buf[i] = status[i] >= ' ' && status[i] <= '~' ? status[i] : '?';
	buf[i] = '\0';
	return buf;
}

bool service_ready_status(const char *status)
{
	char buf[1024];

	return notify("READY=1\nSTATUS=%s", clean(status, buf));
}

bool service_status(const char *status)
{
	char buf[1024];

	return notify("STATUS=%s", clean(status, buf));
}

void service_starting(uint64_t within_us, const char *status)
{
	char buf[1024];

	notify("EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s", within_us, clean(status, buf));
}

void service_stopping_status(uint64_t within_us, const char *status)
{
	char buf[1024];

	notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s", within_us, clean(status, buf));
}

void service_reloading(void)
{
	notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_us());
}

void service_stopping(void)
{
	notify("STOPPING=1");
}

uint64_t service_watchdog_us(void)
{
	uint64_t interval;

	return sd_watchdog_enabled(0, &interval) > 0 ? interval : 0;
}

void service_alive(void)
{
	notify("WATCHDOG=1");
}
