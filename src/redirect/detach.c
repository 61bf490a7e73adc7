/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <bpf/bpf.h>

#include "explain.h"
#include "loader.h"
#include "pins.h"

static const struct command_option options[] = {
	{0},
};

static int detach(const struct command_args *args)
{
	struct pins pins;
	int error;

	pins_lock();
	error = pins_open(loader_interface(args), &pins);
	if (error == -ENOENT)
		return command_error("%s: not attached", loader_interface(args));
	if (error)
		return explain_folder(loader_interface(args), error);
	/*
	 * Also for those who hold the link open. Fails where the interface is gone, and the program
	 * with it.
	 */
	bpf_link_detach(pins.link);
	pins_close(&pins);
	pins_remove(loader_interface(args));
	printf("%s: detached\n", loader_interface(args));
	return COMMAND_OK;
}

const struct command detach_command = {
	.name = "detach",
	.run = detach,
	.operands = "INTERFACE",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "Detach the program and forget its counters",
	.options = options,
};
