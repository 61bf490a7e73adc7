/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/program.h"

#include <errno.h>
#include <stdio.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "redirect/kernel/cids.h"
#include "redirect/kernel/quic_wire.h"

#include "redirect.skel.h"

uint32_t program_layout(uint32_t count)
{
	static const char *const names[] = {
#define X(symbol, name, help) name " ",
		REDIRECT_COUNTER_LIST(X)
#undef X
	};
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (uint32_t i = 0; i < count; i++)
		for (const char *at = names[i]; *at; at++)
			hash = (hash ^ (uint8_t)*at) * 16777619u;
	return hash;
}

static int read_id(struct program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int error = bpf_obj_get_info_by_fd(program->program, &info, &size);

	program->id = info.id;
	return error;
}

/* Sets *offset to the bytes before a member of the type `id`, also before one in a union without a name. */
static bool find_member(const struct btf *btf, uint32_t id, const char *name, __u16 *offset)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	bool is_found = false;

	for (uint32_t i = 0; type && btf_is_composite(type) && i < btf_vlen(type) && !is_found; i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *its_name = btf__name_by_offset(btf, member->name_off);

		*offset = 0;
		is_found = *its_name ? strcmp(its_name, name) == 0 : find_member(btf, member->type, name, offset);
		*offset = (__u16)(*offset + btf_member_bit_offset(type, i) / 8);
	}
	return is_found;
}

int program_find_offsets(struct redirect_offsets *offsets)
{
	const struct {
		const char *type, *member;
		__u16 *offset;
	} wanted[] = {
		{"sock_common", "skc_tw_snd_nxt", &offsets->time_wait_snd_nxt},
		{"sock_common", "skc_tw_rcv_nxt", &offsets->time_wait_rcv_nxt},
		{"tcp_request_sock", "snt_isn", &offsets->request_snt_isn},
		{"tcp_request_sock", "rcv_nxt", &offsets->request_rcv_nxt},
	};
	struct btf *btf = btf__parse_raw(PROGRAM_BTF);
	int error = btf || errno == ENOENT ? 0 : -errno;

	*offsets = (struct redirect_offsets){.is_known = btf != NULL};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && offsets->is_known; i++) {
		int32_t id = btf__find_by_name_kind(btf, wanted[i].type, BTF_KIND_STRUCT);

		offsets->is_known = id > 0 && find_member(btf, (uint32_t)id, wanted[i].member, wanted[i].offset);
	}
	btf__free(btf);
	return error;
}

/* Linux before 5.18 refuses the flag. */
static void accept_frags(struct redirect_bpf *skeleton)
{
	skeleton->rodata->settings.frags = 1;
	bpf_program__set_flags(
		skeleton->progs.glb_redirect, bpf_program__flags(skeleton->progs.glb_redirect) | BPF_F_XDP_HAS_FRAGS);
}

/* fd: of a map to use in place of `map`, or -1. */
static int take_over(struct bpf_map *map, int fd)
{
	return fd < 0 ? 0 : bpf_map__reuse_fd(map, fd);
}

static int load_once(struct program *program, const struct redirect_settings *wanted, const struct redirect_conf *conf,
	const struct redirect_offsets *offsets, const struct program_counts *counts, bool frags)
{
	struct redirect_bpf *skeleton = redirect_bpf__open();
	struct redirect_settings *settings;
	int error;

	*program = (struct program){.skeleton = skeleton};
	if (!skeleton)
		return -errno;
	settings = &skeleton->rodata->settings;
	*settings = *wanted;
	skeleton->rodata_offsets->offsets = *offsets;
	cids_fill(&conf->quic, &skeleton->rodata_quic->quic);
	settings->outer_ipv6 = 1;
	settings->layout = program_layout(REDIRECT_COUNTER_COUNT);
	snprintf(settings->version, sizeof(settings->version), "%s", GLB_VERSION);
	if (frags)
		accept_frags(skeleton);
	error = take_over(skeleton->maps.counters, counts->counters);
	if (!error)
		error = take_over(skeleton->maps.hops, counts->hops);
	if (!error)
		error = redirect_bpf__load(skeleton);
	if (!error)
		error = cids_put_servers(&conf->quic, bpf_map__fd(skeleton->maps.quic_servers));
	if (error)
		return error;
	program->program = bpf_program__fd(skeleton->progs.glb_redirect);
	program->companion = bpf_program__fd(skeleton->progs.glb_checksum);
	program->counters = bpf_map__fd(skeleton->maps.counters);
	program->hops = bpf_map__fd(skeleton->maps.hops);
	program->next = bpf_map__fd(skeleton->maps.next);
	program->settings = bpf_map__fd(skeleton->maps.rodata);
	program->lists.prefixes = bpf_map__fd(skeleton->maps.lists);
	program->lists.generation = bpf_map__fd(skeleton->maps.bss);
	return read_id(program);
}

/* Returns whether the verifier refused the program, or the kernel a flag. Other errors can pass, such as -ENOMEM. */
static bool is_refusal(int error)
{
	return error == -EACCES || error == -EINVAL || error == -E2BIG;
}

/*
 * In generic mode the kernel gives the program each frame in one piece. For a program with the flag it would copy the
 * frame into a new socket buffer, in which tc programs do not find the Ethernet header and our mark (seen on Linux
 * 6.18).
 */
static int load(struct program *program, struct redirect_settings *wanted, const struct redirect_conf *conf,
	const struct redirect_offsets *offsets, const struct program_counts *counts)
{
	bool generic = wanted->checksums == REDIRECT_CHECKSUMS_KERNEL;
	int error;

	wanted->without_numbers = !offsets->is_known;
	error = generic ? 0 : load_once(program, wanted, conf, offsets, counts, true);
	wanted->frags = !generic && !error;
	if (wanted->frags || (error && !is_refusal(error)))
		return error;
	if (error)
		program_unload(program);
	return load_once(program, wanted, conf, offsets, counts, false);
}

int program_load(struct program *program, struct redirect_settings *wanted, const struct redirect_conf *conf,
	struct redirect_offsets offsets, const struct program_counts *counts)
{
	int error = load(program, wanted, conf, &offsets, counts);

	if (!is_refusal(error) || !offsets.is_known)
		return error;
	/* A kernel that does not let the program read its sockets must still get the program. */
	program_unload(program);
	offsets.is_known = 0;
	return load(program, wanted, conf, &offsets, counts);
}

void program_unload(struct program *program)
{
	redirect_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}
