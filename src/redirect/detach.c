/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <bpf/bpf.h>

#include "explain.h"
#include "loader.h"
#include "pins.h"

static const struct loader_option options[] = {
	{0},
};

static int detach(const struct loader_args *args)
{
	struct pins pins;
	int error;

	pins_lock();
	error = pins_open(args->interface, &pins);
	if (error == -ENOENT)
		return loader_error("%s: not attached", args->interface);
	if (error)
		return explain_folder(args->interface, error);
	/*
	 * Also for those who hold the link open. Fails where the interface is gone, and the program
	 * with it.
	 */
	bpf_link_detach(pins.link);
	pins_close(&pins);
	pins_remove(args->interface);
	printf("%s: detached\n", args->interface);
	return LOADER_OK;
}

const struct loader_command detach_command = {
	.name = "detach",
	.run = detach,
	.operands = "INTERFACE",
	.needs_interface = true,
	.summary = "Detach the program and forget its counters",
	.options = options,
};
