/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/companion.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "redirect/kernel/pins.h"

/* Linux 6.6 defines these. Debian 12 has older headers. */
#define LINK_TYPE_TCX      ((enum bpf_link_type)11)
#define ATTACH_TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_BEFORE         (1u << 3) /* without naming another program: before all others */

/* Returns the pinned tcx link, or -ENOENT if there is none that is attached to the interface. */
static int open_link(const char *interface, uint32_t ifindex)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	int link = pins_get(interface, PINS_COMPANION, ""), error;

	if (link < 0)
		return link;
	error = bpf_obj_get_info_by_fd(link, &info, &size);
	/* Information about both kinds of links begins with the ifindex. It is 0 if the interface was deleted. */
	if (!error && (info.type != LINK_TYPE_TCX || info.xdp.ifindex != ifindex))
		error = -ENOENT;
	if (!error)
		return link;
	close(link);
	return error;
}

static int put_link(const char *interface, uint32_t ifindex, int program)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_BEFORE);
	int link = open_link(interface, ifindex), error;

	if (link >= 0) {
		error = bpf_link_update(link, program, NULL);
	} else {
		link = bpf_link_create(program, (int)ifindex, ATTACH_TCX_INGRESS, &opts);
		if (link < 0)
			return link;
		pins_remove_pin(interface, PINS_COMPANION, "");
		error = pins_put(interface, PINS_COMPANION, "", link);
	}
	close(link);
	return error;
}

#define HOOK(index)                                                                                       \
	{                                                                                                 \
		.sz = sizeof(struct bpf_tc_hook), .ifindex = (int)(index), .attach_point = BPF_TC_INGRESS \
	}
#define FILTER(...)                                                                                                       \
	{                                                                                                                 \
		.sz = sizeof(struct bpf_tc_opts), .handle = COMPANION_HANDLE, .priority = COMPANION_PRIORITY, __VA_ARGS__ \
	}

static int put_filter(uint32_t ifindex, int program)
{
	struct bpf_tc_opts filter = FILTER(.prog_fd = program, .flags = BPF_TC_F_REPLACE);
	struct bpf_tc_hook hook = HOOK(ifindex);
	int error = bpf_tc_hook_create(&hook);

	return error && error != -EEXIST ? error : bpf_tc_attach(&hook, &filter);
}

static bool has_filter(uint32_t ifindex)
{
	struct bpf_tc_opts filter = FILTER(.prog_id = 0);
	struct bpf_tc_hook hook = HOOK(ifindex);

	return bpf_tc_query(&hook, &filter) == 0;
}

const char *companion_name(enum companion_place place)
{
	static const char *const names[] = {"missing", "tcx", "clsact"};

	return names[place];
}

int companion_find(const char *interface, uint32_t ifindex, enum companion_place *place)
{
	int link = open_link(interface, ifindex);

	*place = COMPANION_TCX;
	if (link >= 0)
		return close(link);
	*place = has_filter(ifindex) ? COMPANION_CLSACT : COMPANION_MISSING;
	return link == -ENOENT ? 0 : link;
}

int companion_put(const char *interface, uint32_t ifindex, int program)
{
	int error = put_link(interface, ifindex, program);

	/* What a kernel without tcx says to this type of link. */
	return error == -EINVAL ? put_filter(ifindex, program) : error;
}

void companion_remove(const char *interface, uint32_t ifindex)
{
	struct bpf_tc_opts filter = FILTER(.prog_id = 0);
	struct bpf_tc_hook hook = HOOK(ifindex);
	int link = open_link(interface, ifindex);

	if (link >= 0) {
		bpf_link_detach(link);
		close(link);
	} else {
		bpf_tc_detach(&hook, &filter);
	}
}
