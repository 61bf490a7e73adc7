/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "redirect/attach_options.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/pins.h"
#include "redirect/program.h"

struct request {
	const char *interface;
	uint32_t ifindex;
	bool has_mode, generic;
	struct redirect_settings settings;
	bool debug;
};

static int parse(const struct command_args *args, struct request *request)
{
	char error[ATTACH_ERROR_MAX];

	*request = (struct request){
		.interface = loader_interface(args),
		.has_mode = args->options[ATTACH_MODE],
		.debug = args->options[ATTACH_DEBUG],
	};
	if (!attach_options_read(args, &request->settings, &request->generic, error))
		return command_usage("%s", error);
	return COMMAND_OK;
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	return vfprintf(stderr, format, args);
}

static void print_result(const struct request *request, const char *result)
{
	printf("%s: %s, %s mode\n", request->interface, result, request->generic ? "generic" : "native");
	loader_print_settings(&request->settings);
}

static int attach_new(const struct request *request)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = request->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	struct program program;
	int error = program_load(&program, &request->settings, -1), link = -1;
	int code = COMMAND_FAILED;

	if (error) {
		explain_load(error, request->debug);
		goto out;
	}
	error = pins_make_folder(request->interface);
	if (error) {
		explain_folder(request->interface, error);
		goto out;
	}
	link = bpf_link_create(program.program, (int)request->ifindex, BPF_XDP, &opts);
	if (link < 0) {
		explain_attach(request->interface, request->generic, link);
		goto out;
	}
	error = pins_put(request->interface, "counters", program.counters);
	if (!error)
		error = pins_put(request->interface, "settings", program.settings);
	if (!error)
		error = pins_put(request->interface, "link", link);
	if (error) {
		explain_folder(request->interface, error);
		goto out;
	}
	print_result(request, "attached");
	code = COMMAND_OK;
out:
	if (code != COMMAND_OK)
		pins_remove(request->interface);
	if (link >= 0)
		close(link);
	program_unload(&program);
	return code;
}

/*
 * Replaces the attached program atomically: every packet is handled by the old or by the new program. The
 * new program uses the same map of counters. If it has more counters, it gets a new map with a copy of the
 * old values, so packets between the copy and the replacement are not counted.
 */
static int update(const struct request *request, const struct pins *old)
{
	struct program program;
	uint32_t known = pins_known_counters(old);
	int error = program_load(&program, &request->settings, known == REDIRECT_COUNTER_COUNT ? old->counters : -1);
	int code = COMMAND_FAILED;

	if (error) {
		explain_load(error, request->debug);
		goto out;
	}
	if (known == 0)
		command_note("the attached program has other counters than version " GLB_VERSION
			     ", so all counters start at 0");
	else if (known < REDIRECT_COUNTER_COUNT)
		error = pins_copy_counters(old, program.counters, known);
	if (error) {
		explain_folder(request->interface, error);
		goto out;
	}
	error = bpf_link_update(old->link, program.program, NULL);
	if (error) {
		explain_attach(request->interface, request->generic, error);
		goto out;
	}
	error = pins_put(request->interface, "settings", program.settings);
	if (!error)
		error = pins_put(request->interface, "counters", program.counters);
	if (error) {
		explain_folder(request->interface, error);
		goto out;
	}
	print_result(request, "replaced the attached program");
	code = COMMAND_OK;
out:
	program_unload(&program);
	return code;
}

/* Returns whether the kernel looks up routes of this family for eBPF. Without IPv6 in the kernel, IPv6 needs none. */
static bool forwarding_is_on(const char *family)
{
	char path[64];
	int forwarding = 1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/lo/forwarding", family);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fscanf(file, "%d", &forwarding) != 1)
		forwarding = 0;
	fclose(file);
	return forwarding != 0;
}

/*
 * The kernel looks up routes for eBPF only if forwarding is enabled on the interface in the query. The
 * program queries the loopback interface, which receives nothing that the host could forward. GUE packets
 * for the next hop are IPv4. SYN cookies go to clients of both families.
 */
static int check_forwarding(const struct redirect_settings *settings)
{
	if (settings->syn_cookies && !(forwarding_is_on("ipv4") && forwarding_is_on("ipv6")))
		return command_error(
			"--syn-cookies on: the kernel looks up routes for eBPF only if forwarding is enabled on lo: run sysctl -w net.ipv4.conf.lo.forwarding=1 net.ipv6.conf.lo.forwarding=1 (this does not make the host a router)");
	if (settings->forward == REDIRECT_FORWARD_FIB && !forwarding_is_on("ipv4"))
		return command_error(
			"--forward fib: the kernel looks up routes for eBPF only if forwarding is enabled on lo: run sysctl -w net.ipv4.conf.lo.forwarding=1 (this does not make the host a router)");
	return COMMAND_OK;
}

/* In bytes. The network between director and proxy may not carry larger packets, even if this interface could. */
#define USUAL_MTU 1500

/*
 * Reads the MTU. Refuses an interface without Ethernet headers (tun, WireGuard), because the program
 * would recognize no packet on it.
 */
static int read_interface(struct request *request)
{
	struct ifreq type = {0}, mtu;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	snprintf(type.ifr_name, sizeof(type.ifr_name), "%s", request->interface);
	mtu = type;
	error = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &type) != 0 || ioctl(fd, SIOCGIFMTU, &mtu) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error)
		return command_error(
			"%s: cannot read the interface's type and MTU: %s", request->interface, strerror(error));
	if (type.ifr_hwaddr.sa_family != ARPHRD_ETHER && type.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK)
		return command_error(
			"%s is not an Ethernet interface: attach to the interface that receives GUE with Ethernet headers",
			request->interface);
	request->settings.mtu = (uint16_t)(mtu.ifr_mtu < USUAL_MTU ? mtu.ifr_mtu : USUAL_MTU);
	return COMMAND_OK;
}

static int check_and_update(struct request *request, const struct pins *old)
{
	struct pins_location location;
	int error = pins_locate(request->interface, old, &location);
	bool generic = location.mode == XDP_ATTACHED_SKB;

	if (error)
		return explain_query(request->interface, error);
	if (location.place == PINS_ELSEWHERE)
		return explain_elsewhere(request->interface);
	if (location.place == PINS_RENAMED)
		return command_error(
			"%s: the program is still attached to the interface that had this name, which is called %s now: run glb-redirect detach %s first",
			request->interface, location.name, request->interface);
	if (request->has_mode && request->generic != generic)
		return command_error("%s: the program is attached in %s mode: detach it first to change the mode",
			request->interface, loader_mode_name(location.mode));
	request->generic = generic;
	return update(request, old);
}

static int attach(const struct command_args *args)
{
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	struct request request;
	struct pins old;
	int code = parse(args, &request), error;

	if (code != COMMAND_OK)
		return code;
	if (request.debug)
		libbpf_set_print(print_libbpf);
	request.ifindex = if_nametoindex(request.interface);
	if (!request.ifindex)
		return command_error("there is no interface '%s'", request.interface);
	code = check_forwarding(&request.settings);
	if (code == COMMAND_OK)
		code = read_interface(&request);
	if (code != COMMAND_OK)
		return code;
	pins_lock();
	error = bpf_xdp_query((int)request.ifindex, 0, &query);
	if (error)
		return explain_query(request.interface, error);

	error = pins_open(request.interface, &old);
	if (error && error != -ENOENT)
		return explain_folder(request.interface, error);
	if (!error && old.link_ifindex == 0) {
		/* The link's interface was deleted, and this is a new one with the same name. */
		pins_close(&old);
		pins_remove(request.interface);
		error = -ENOENT;
	}
	if (!error)
		code = check_and_update(&request, &old);
	else if (query.attach_mode != XDP_ATTACHED_NONE)
		code = explain_foreign(request.interface, query.prog_id);
	else
		code = attach_new(&request);
	pins_close(&old);
	return code;
}

const struct command attach_command = {
	.name = "attach",
	.run = attach,
	.operands = "INTERFACE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "Attach the program, or replace the one that is attached",
	.options = attach_options,
};
