/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/if_link.h>

#include <bpf/libbpf.h>

#include "redirect/attach_options.h"
#include "redirect/explain.h"
#include "redirect/install.h"
#include "redirect/host/interface.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

static int print_libbpf(enum libbpf_print_level, const char *format, va_list args)
{
	return vfprintf(stderr, format, args);
}

/* Reads the options, the interface and the configuration file. */
static int prepare(const struct command_args *args, struct install *install)
{
	char error[COMMAND_FAULT_MAX];

	*install = (struct install){
		.interface = loader_interface(args),
		.debug = args->options[ATTACH_DEBUG],
		.has_mode = args->options[ATTACH_MODE],
	};
	if (!attach_options_read(args, &install->settings, &install->generic, error))
		return command_usage("%s", error);
	if (install->debug)
		libbpf_set_print(print_libbpf);
	return install_prepare(install);
}

/* No program of ours is attached. Leftovers of an earlier attach are of no use. */
static int attach_first(struct install *install)
{
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};
	int error, code;

	pins_remove(install->interface);
	error = bpf_xdp_query((int)install->ifindex, 0, &query);
	if (error)
		return explain_query(install->interface, error);
	if (query.attach_mode != XDP_ATTACHED_NONE)
		return explain_foreign(install->interface, query.prog_id);
	code = install->generic ? COMMAND_OK : interface_check_tags(install->interface, &install->conf, false);
	return code == COMMAND_OK ? install_new(install) : code;
}

static int attach_or_replace(struct install *install)
{
	struct pins old;
	int error, code;

	if (loader_lock() == -EPERM)
		return COMMAND_FAILED;
	error = pins_open(install->interface, &old);
	if (error && error != -ENOENT)
		return explain_folder(install->interface, error);
	if (!error && old.link_ifindex == 0) {
		/* The link's interface was deleted, and this is a new one with the same name. */
		pins_close(&old);
		error = -ENOENT;
	}
	if (error)
		return attach_first(install);
	code = install_check_and_replace(install, &old);
	pins_close(&old);
	return code;
}

static int attach(const struct command_args *args)
{
	struct install install;
	int code = prepare(args, &install);

	if (code == COMMAND_OK)
		code = attach_or_replace(&install);
	redirect_conf_free(&install.conf);
	return code;
}

const struct command attach_command = {
	.name = "attach",
	.run = attach,
	.operands = "INTERFACE",
	.summary = "Attach the program, or replace the one that is attached",
	.options = attach_options,
};
