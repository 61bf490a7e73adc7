/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "redirect/explain.h"
#include "redirect/install.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

/* Takes over the settings of the attached program, and reads its configuration file again. */
static int prepare(struct install *install, const struct pins *old)
{
	if (pins_read_settings(old, &install->settings))
		return command_error("%s: version " GLB_VERSION
				     " cannot read the settings of the attached program: run glb-redirect attach",
			install->interface);
	return install_prepare(install);
}

static int reload(const struct command_args *args)
{
	struct install install = {.interface = loader_interface(args)};
	struct pins old;
	int error, code;

	if (loader_lock() == -EPERM)
		return COMMAND_FAILED;
	error = pins_open(install.interface, &old);
	if (error == -ENOENT)
		return command_error(
			"%s: not attached: run glb-redirect attach %s", install.interface, install.interface);
	if (error)
		return explain_folder(install.interface, error);
	code = prepare(&install, &old);
	if (code == COMMAND_OK)
		code = install_check_and_replace(&install, &old);
	pins_close(&old);
	redirect_conf_free(&install.conf);
	return code;
}

const struct command reload_command = {
	.name = "reload",
	.run = reload,
	.operands = "INTERFACE",
	.summary = "Read the configuration file and the addresses of this host again",
	.options = COMMAND_NO_OPTIONS,
};
