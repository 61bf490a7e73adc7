/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/claim.h"

#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bifurcate/bifurcate.h"

#include "sockets.skel.h"

#define MAX_MAPS       16 /* of a program; ours has 2 */
#define SMALLEST_FRAME 14 /* bytes that BPF_PROG_TEST_RUN needs for an XDP program */

/* Opens the program with this id. Returns its descriptor, with its maps in ids[0..*count), or -errno. */
static int open_program(uint32_t id, struct bpf_prog_info *info, uint32_t ids[MAX_MAPS])
{
	uint32_t size = sizeof(*info);
	int fd = bpf_prog_get_fd_by_id(id), error;

	if (fd < 0)
		return fd;
	*info = (struct bpf_prog_info){.nr_map_ids = MAX_MAPS, .map_ids = (uint64_t)(uintptr_t)ids};
	error = bpf_obj_get_info_by_fd(fd, info, &size);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

/* Runs glb_has_sockets() on an XSKMAP. Returns 1, 0 or -errno. */
static int map_has_sockets(int map)
{
	struct sockets_bpf *skeleton = sockets_bpf__open();
	uint8_t frame[SMALLEST_FRAME] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame), .repeat = 1);
	int error;

	if (!skeleton)
		return -errno;
	error = bpf_map__reuse_fd(skeleton->maps.xsks_map, map);
	if (!error)
		error = sockets_bpf__load(skeleton);
	if (!error)
		error = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.glb_has_sockets), &run);
	sockets_bpf__destroy(skeleton);
	return error ? error : (int)run.retval;
}

/* Returns whether one of the maps is an XSKMAP with a socket: 1, 0 or -errno. *has_map: one of them is an XSKMAP. */
static int have_sockets(const uint32_t *ids, uint32_t count, bool *has_map)
{
	int has = 0;

	*has_map = false;
	for (uint32_t i = 0; i < count && i < MAX_MAPS && has == 0; i++) {
		struct bpf_map_info info = {0};
		uint32_t size = sizeof(info);
		int map = bpf_map_get_fd_by_id(ids[i]);

		if (map < 0)
			return map;
		has = bpf_obj_get_info_by_fd(map, &info, &size);
		if (has == 0 && info.type == BPF_MAP_TYPE_XSKMAP) {
			*has_map = true;
			has = map_has_sockets(map);
		}
		close(map);
	}
	return has;
}

/* The kernel detaches the program only if it is still the one that was examined. */
static int detach(int ifindex, uint8_t mode, int program)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = program);

	return bpf_xdp_detach(ifindex, mode == XDP_ATTACHED_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE, &options);
}

/* libxdp attaches these, and shares them with the sockets of several processes. */
static bool is_of_libxdp(const char *name)
{
	return strcmp(name, "xsk_def_prog") == 0 || strcmp(name, "xdp_dispatcher") == 0;
}

/* Returns whether the file has a program of this name. The kernel keeps only the first 15 characters. */
static bool has_program(const char *object, const char *name)
{
	struct bpf_object *file = object && access(object, R_OK) == 0 ? bpf_object__open_file(object, NULL) : NULL;
	struct bpf_program *program;
	bool found = false;

	if (!file)
		return false;
	bpf_object__for_each_program(program, file) found |=
		strncmp(bpf_program__name(program), name, BPF_OBJ_NAME_LEN - 1) == 0;
	bpf_object__close(file);
	return found;
}

static int refuse_permission(const char *interface, uint32_t id, int error, struct faults *faults)
{
	faults_error(faults, interface, "cannot examine its XDP program (id %u): %s%s", id, strerror(-error),
		error == -EPERM ? ": the director needs CAP_SYS_ADMIN for AF_XDP" : "");
	return error;
}

/* Decides about the program that is attached. Returns what claim_interface() returns. */
static int judge(const char *interface, int ifindex, const struct bpf_xdp_query_opts *query, const char *object,
	struct faults *faults)
{
	struct bpf_prog_info info;
	uint32_t ids[MAX_MAPS];
	bool has_map;
	int program = open_program(query->prog_id, &info, ids), result;

	if (program < 0)
		return refuse_permission(interface, query->prog_id, program, faults);
	result = have_sockets(ids, info.nr_map_ids, &has_map);
	if (result < 0) {
		refuse_permission(interface, query->prog_id, result, faults);
	} else if (result > 0) {
		faults_error(faults, interface,
			"its XDP program '%s' (id %u) serves AF_XDP sockets of another process: stop that process first",
			info.name, query->prog_id);
		result = -EBUSY;
	} else if (strcmp(info.name, BIFURCATE_PROGRAM) == 0 || (has_map && has_program(object, info.name))) {
		result = detach(ifindex, query->attach_mode, program);
		if (result)
			faults_error(faults, interface,
				"cannot remove the XDP program that a killed director left (id %u): %s: run ip link set dev %s xdp off",
				query->prog_id, strerror(-result), interface);
		else
			result = 1;
	} else if (object || !is_of_libxdp(info.name)) {
		faults_error(faults, interface,
			"it has an XDP program of another tool, '%s' (id %u): remove it with that tool, or with ip link set dev %s xdp off",
			info.name, query->prog_id, interface);
		result = -EBUSY;
	}
	close(program);
	return result;
}

/* Returns whether the process that holds the address is root's or of our user. Others could block every start. */
static bool is_trusted_holder(const struct sockaddr_un *address, socklen_t size, struct ucred *holder)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t length = sizeof(*holder);
	bool known = fd >= 0 && connect(fd, (const struct sockaddr *)address, size) == 0 &&
		     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, holder, &length) == 0;

	if (fd >= 0)
		close(fd);
	return known && (holder->uid == 0 || holder->uid == geteuid());
}

/*
 * Two directors that start at the same time would both find the interface free. An abstract socket address belongs to
 * one network namespace, like the interface, and the kernel frees it when the process ends, however it ends. Each
 * director that is refused leaves a connection in the queue, because nobody accepts it, so the queue is long.
 */
static int lock(const char *interface, int ifindex, struct faults *faults)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "glb-director/af_xdp/%d", ifindex);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred holder;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, size) == 0 && listen(fd, SOMAXCONN) == 0)
		return 0; /* the descriptor stays open until the process ends */
	if (fd >= 0)
		close(fd);
	if (!is_trusted_holder(&address, size, &holder) || holder.pid == getpid())
		return 0;
	faults_error(faults, interface, "another director (pid %d) uses it already: stop that director first",
		(int)holder.pid);
	return -EBUSY;
}

int claim_interface(const char *interface, const char *object, struct faults *faults)
{
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	int ifindex = (int)if_nametoindex(interface), error;

	if (!ifindex)
		return 0;
	error = lock(interface, ifindex, faults);
	if (error)
		return error;
	error = bpf_xdp_query(ifindex, 0, &query);
	if (error) {
		faults_error(faults, interface, "the kernel does not say which XDP program it has: %s", strerror(-error));
		return error;
	}
	if (query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	if (query.attach_mode == XDP_ATTACHED_MULTI) {
		faults_error(
			faults, interface, "it has several XDP programs: remove them (ip link show dev %s)", interface);
		return -EBUSY;
	}
	return judge(interface, ifindex, &query, object, faults);
}

bool claim_has_our_program(unsigned int ifindex)
{
	struct bpf_prog_info info = {0};
	uint32_t id = 0, ids[MAX_MAPS];
	int fd;

	if (bpf_xdp_query_id((int)ifindex, 0, &id) != 0 || id == 0)
		return false;
	fd = open_program(id, &info, ids);
	if (fd < 0)
		return false;
	close(fd);
	return strcmp(info.name, BIFURCATE_PROGRAM) == 0;
}
