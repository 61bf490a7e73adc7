/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vip_map.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/magic.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "common/file/file_lock.h"
#include "program/sockaddr.h"

#define LOCK VIP_MAP_PATH "_lock" /* bpffs allows no dots in names */

#define LOCK_WAIT_MS 2000

static const uint8_t present = 1; /* the value of each key */

static int fail(struct faults *faults, const char *operation, int error)
{
	const char *remedy = "";

	if (error == -EPERM || error == -EACCES)
		remedy = ": run as root, or as root with CAP_BPF";
	else if (error == -EROFS) /* the director's unit makes bpffs read-only */
		remedy = ": run systemctl enable --now glb-bifurcate, or glb-bifurcate sync TABLE";
	faults_error(faults, VIP_MAP_PATH, "cannot %s: %s%s", operation, strerror(-error), remedy);
	return error;
}

static int create_map(struct faults *faults)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, BIFURCATE_VIPS, sizeof(struct bifurcate_prefix),
		sizeof(present), BIFURCATE_MAX_VIPS, &options);
	int error;

	if (map < 0)
		return fail(faults, "create the map", map);
	error = bpf_obj_pin(map, VIP_MAP_PATH);
	if (error == 0)
		return map;
	close(map);
	return error == -EEXIST ? bpf_obj_get(VIP_MAP_PATH) : fail(faults, "pin the map", error);
}

/* DPDK's driver cannot load our program if the pinned map has another definition than the one in bifurcate.bpf.c. */
static int check_map(int map, struct faults *faults)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int error = bpf_obj_get_info_by_fd(map, &info, &size);

	if (error)
		return fail(faults, "examine it", error);
	if (info.type == BPF_MAP_TYPE_LPM_TRIE && info.key_size == sizeof(struct bifurcate_prefix) &&
		info.value_size == sizeof(present) && info.max_entries == BIFURCATE_MAX_VIPS &&
		info.map_flags == BPF_F_NO_PREALLOC)
		return 0;
	faults_error(faults, VIP_MAP_PATH,
		"it is not a map of VIPs: if no other program needs it, stop the director and run rm " VIP_MAP_PATH);
	return -EINVAL;
}

int vip_map_open(bool create, struct faults *faults)
{
	struct statfs fs;
	int map, error;

	if (statfs(BIFURCATE_BPFFS, &fs) != 0 || fs.f_type != BPF_FS_MAGIC) {
		faults_error(faults, NULL,
			"there is no bpffs on " BIFURCATE_BPFFS ": run mount -t bpf bpf " BIFURCATE_BPFFS);
		return -ENODEV;
	}
	map = bpf_obj_get(VIP_MAP_PATH);
	if (map == -ENOENT && create)
		map = create_map(faults);
	else if (map == -ENOENT)
		faults_error(faults, VIP_MAP_PATH, "there is no map of VIPs: run glb-bifurcate sync TABLE");
	else if (map < 0)
		fail(faults, "open it", map);
	if (map < 0)
		return map;
	error = check_map(map, faults);
	if (!error)
		return map;
	close(map);
	return error;
}

int vip_map_read(int map, struct vips *vips, struct faults *faults)
{
	struct bifurcate_prefix key, *previous = NULL;
	int error;

	*vips = (struct vips){0};
	while ((error = bpf_map_get_next_key(map, previous, &key)) == 0) {
		error = vips_add(vips, &key);
		if (error)
			break;
		previous = &key;
	}
	if (error != -ENOENT) {
		vips_free(vips);
		return fail(faults, "read it", error);
	}
	vips_sort(vips);
	return 0;
}

/* Returns the lock, or -errno. */
static int lock(struct faults *faults)
{
	char holder[FILE_LOCK_HOLDER_MAX];
	int held = file_lock_folder(LOCK, LOCK_WAIT_MS, holder);

	if (held == -EWOULDBLOCK)
		faults_error(faults, VIP_MAP_PATH, "%s changes it: try again", holder);
	else if (held < 0)
		fail(faults, "lock it by the folder " LOCK, held);
	return held;
}

static int add_missing(int map, const struct vips *old, const struct vips *wanted, uint32_t *added, struct faults *faults)
{
	for (uint32_t i = 0; i < wanted->count; i++) {
		int error;

		if (vips_has(old, &wanted->items[i]))
			continue;
		error = bpf_map_update_elem(map, &wanted->items[i], &present, BPF_ANY);
		if (error)
			return fail(faults, "add a VIP", error);
		++*added;
	}
	return 0;
}

static int remove_obsolete(
	int map, const struct vips *old, const struct vips *wanted, uint32_t *removed, struct faults *faults)
{
	for (uint32_t i = 0; i < old->count; i++) {
		int error;

		if (vips_has(wanted, &old->items[i]))
			continue;
		error = bpf_map_delete_elem(map, &old->items[i]);
		if (error && error != -ENOENT)
			return fail(faults, "remove a VIP", error);
		++*removed;
	}
	return 0;
}

static uint32_t count_missing(const struct vips *old, const struct vips *wanted)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < wanted->count; i++)
		missing += !vips_has(old, &wanted->items[i]);
	return missing;
}

static int replace(int map, const struct vips *old, const struct vips *wanted, struct vip_map_change *change,
	struct faults *faults)
{
	uint32_t missing = count_missing(old, wanted);
	int error;

	change->kept = (uint32_t)wanted->count - missing;
	if (old->count + missing <= BIFURCATE_MAX_VIPS) {
		error = add_missing(map, old, wanted, &change->added, faults);
		return error ? error : remove_obsolete(map, old, wanted, &change->removed, faults);
	}
	error = remove_obsolete(map, old, wanted, &change->removed, faults);
	return error ? error : add_missing(map, old, wanted, &change->added, faults);
}

int vip_map_set(int map, const struct vips *wanted, struct vip_map_change *change, struct faults *faults)
{
	struct vips old;
	int held = lock(faults), error;

	*change = (struct vip_map_change){0};
	if (held < 0)
		return held;
	error = vip_map_read(map, &old, faults);
	if (!error) {
		error = replace(map, &old, wanted, change, faults);
		vips_free(&old);
	}
	close(held); /* the folder stays: for the director, whose unit sees bpffs read-only */
	return error;
}

static bool has_address(const struct ifaddrs *own)
{
	return own->ifa_addr && !(own->ifa_flags & IFF_LOOPBACK) &&
	       (own->ifa_addr->sa_family == AF_INET || own->ifa_addr->sa_family == AF_INET6);
}

void vip_map_warn_own_addresses(const struct vips *vips, struct faults *faults)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) != 0)
		return;
	for (const struct ifaddrs *own = all; own; own = own->ifa_next) {
		char text[NETPREFIX_TEXT_MAX], address_text[NETADDR_TEXT_MAX];
		struct netaddr address;

		if (!has_address(own))
			continue;
		address = sockaddr_netaddr((const union sockaddr_any *)(const void *)own->ifa_addr);
		for (uint32_t i = 0; i < vips->count; i++) {
			struct netprefix vip = vips_prefix(&vips->items[i]);

			if (netprefix_covers(&vip, &address))
				faults_warn(faults, NULL,
					"VIP %s covers %s, an address of this host's %s: the director takes its packets, SSH included",
					netprefix_format(&vip, text), netaddr_format(&address, address_text),
					own->ifa_name);
		}
	}
	freeifaddrs(all);
}
