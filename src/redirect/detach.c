/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>

#include <bpf/bpf.h>

#include "redirect/kernel/companion.h"
#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

static int remove_leftovers(const char *interface)
{
	companion_remove(interface, if_nametoindex(interface));
	if (!pins_remove(interface))
		return command_error("%s: not attached", interface);
	printf("%s: was not attached; removed the pins of an interrupted attach\n", interface);
	return COMMAND_OK;
}

static int detach(const struct command_args *args)
{
	const char *interface = loader_interface(args);
	struct pins_location location;
	struct pins pins;
	int error;

	if (loader_lock() == -EPERM)
		return COMMAND_FAILED;
	error = pins_open(interface, &pins);
	if (error == -ENOENT)
		return remove_leftovers(interface);
	if (error)
		return explain_folder(interface, error);
	error = pins_locate(interface, &pins, &location);
	if (error || location.place == PINS_ELSEWHERE) {
		pins_close(&pins);
		return error ? explain_query(interface, error) : explain_elsewhere(interface);
	}
	/*
	 * Detaches the program even if another process holds the link open. Fails if the interface was
	 * deleted, but then the program is detached already.
	 */
	bpf_link_detach(pins.link);
	/* A detach that was killed here has left the tc program without the link that names the interface. */
	companion_remove(interface, pins.link_ifindex ? pins.link_ifindex : if_nametoindex(interface));
	pins_close(&pins);
	pins_remove(interface);
	printf("%s: detached\n", interface);
	return COMMAND_OK;
}

const struct command detach_command = {
	.name = "detach",
	.run = detach,
	.operands = "INTERFACE",
	.summary = "Detach the program and forget its counters",
	.options = COMMAND_NO_OPTIONS,
};
