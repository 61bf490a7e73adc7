/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/ports/vdev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "program/log.h"

bool vdev_value(const char *vdev, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *at = strchr(vdev, ','); at; at = strchr(at + 1, ',')) {
		if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=')
			continue;
		at += length + 2;
		return snprintf(value, size, "%.*s", (int)strcspn(at, ","), at) < (int)size;
	}
	return false;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Copies the path of the socket that the device listens on. Returns false if it listens on none. */
static bool listens_on(const char *vdev, char *path, size_t size)
{
	char value[4];

	if (has_prefix(vdev, "net_vhost") || has_prefix(vdev, "eth_vhost"))
		return !(vdev_value(vdev, "client", value, sizeof(value)) && strcmp(value, "1") == 0) &&
		       vdev_value(vdev, "iface", path, size);
	return has_prefix(vdev, "net_virtio_user") && vdev_value(vdev, "server", value, sizeof(value)) &&
	       strcmp(value, "1") == 0 && vdev_value(vdev, "path", path, size);
}

static bool is_socket(const char *path)
{
	struct stat found;

	return lstat(path, &found) == 0 && S_ISSOCK(found.st_mode);
}

/* Listens there for a moment, as DPDK will. Returns 0, or an errno. A socket on which nobody listens is removed. */
static int try_to_listen(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;

	if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)))
		error = errno;
	else
		unlink(address->sun_path);
	if (error == EADDRINUSE && is_socket(address->sun_path) &&
		connect(fd, (const struct sockaddr *)address, sizeof(*address)) && errno == ECONNREFUSED) {
		error = unlink(address->sun_path) ? errno : 0;
		if (!error)
			log_notice("%s: removed the socket that a killed process left", address->sun_path);
	}
	if (fd >= 0)
		close(fd);
	return error;
}

int vdev_claim_socket(const char *vdev)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	if (!listens_on(vdev, address.sun_path, sizeof(address.sun_path)))
		return 0;
	error = try_to_listen(&address);
	if (error == EADDRINUSE)
		log_error("--vdev %s: another process listens on %s, or it is no socket: give each director a socket of its own",
			vdev, address.sun_path);
	else if (error)
		log_error("--vdev %s: cannot listen on the socket %s: %s", vdev, address.sun_path, strerror(error));
	return -error;
}
