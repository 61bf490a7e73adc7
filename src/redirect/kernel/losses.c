/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/losses.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "losses.skel.h"
#include "redirect/kernel/pins.h"

#define FOLDER "losses"
#define COUNTS "counts" /* pinned last, so that it tells that all are pinned */

const char *const losses_names[LOSSES_COUNT] = {[LOSSES_KERNEL] = "kernel", [LOSSES_DRIVER] = "driver"};

static const char *const pins[] = {"redirect_err", "exception", "devmap_xmit", COUNTS};
#define PIN_COUNT (sizeof(pins) / sizeof(pins[0]))

static bool is_watched(const char *interface)
{
	int fd = pins_get(interface, FOLDER, COUNTS);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int load(struct losses_bpf *skeleton, uint32_t ifindex)
{
	struct stat network;
	int error;

	if (stat("/proc/self/ns/net", &network) != 0)
		return -errno;
	skeleton->rodata->watched.ifindex = ifindex;
	skeleton->rodata->watched.network = (uint32_t)network.st_ino;
	error = losses_bpf__load(skeleton);
	return error ? error : losses_bpf__attach(skeleton);
}

static int pin(const char *interface, const struct losses_bpf *skeleton)
{
	const int fds[PIN_COUNT] = {
		bpf_link__fd(skeleton->links.redirect_err),
		bpf_link__fd(skeleton->links.exception),
		bpf_link__fd(skeleton->links.devmap_xmit),
		bpf_map__fd(skeleton->maps.losses),
	};
	int error = pins_make_folder(interface, FOLDER);

	for (size_t i = 0; i < PIN_COUNT && !error; i++)
		error = pins_put(interface, FOLDER, pins[i], fds[i]);
	return error;
}

int losses_watch(const char *interface, uint32_t ifindex)
{
	struct losses_bpf *skeleton;
	int error;

	if (is_watched(interface))
		return 0;
	pins_remove_folder(interface, FOLDER);
	skeleton = losses_bpf__open();
	if (!skeleton)
		return -errno;
	error = load(skeleton, ifindex);
	if (!error)
		error = pin(interface, skeleton);
	if (error)
		pins_remove_folder(interface, FOLDER);
	losses_bpf__destroy(skeleton);
	return error;
}

int losses_read(const char *interface, uint64_t values[LOSSES_COUNT])
{
	int map = pins_get(interface, FOLDER, COUNTS), error;

	if (map < 0)
		return map;
	error = pins_sum(map, LOSSES_COUNT, values);
	close(map);
	return error;
}
