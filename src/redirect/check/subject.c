/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/check/subject.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>

#include "gue/gue_wire.h"
#include "program/command.h"
#include "redirect/check/ruleset.h"
#include "redirect/kernel/pins.h"

static void read_conf(struct check_subject *subject, const char *config_file)
{
	subject->config_file = config_file ? config_file : subject->settings.config_file;
	subject->faults.file = subject->config_file;
	redirect_conf_init(&subject->conf);
	if (*subject->config_file)
		redirect_conf_read(subject->config_file, &subject->conf, &subject->faults);
}

/* Without permission, or if nothing is attached, the settings are those of attach without options. */
static void read_program(struct check_subject *subject)
{
	struct pins_location location;
	struct pins pins;
	int error;

	subject->settings = (struct redirect_settings){.port = GUE_PORT};
	error = pins_open(subject->interface, &pins);
	subject->hidden = error && error != -ENOENT;
	if (error)
		return;
	if (pins_locate(subject->interface, &pins, &location) == 0 && location.place == PINS_HERE) {
		subject->attached = true;
		subject->generic = location.mode == XDP_ATTACHED_SKB;
		if (pins_read_settings(&pins, &subject->settings) != 0)
			subject->settings = (struct redirect_settings){.port = GUE_PORT};
	}
	pins_close(&pins);
}

int subject_read(const char *interface, const char *vips, const char *config_file, struct check_subject *subject)
{
	char word[NETPREFIX_TEXT_MAX];
	int error;

	*subject = (struct check_subject){.interface = interface};
	error = links_read(&subject->links);
	if (!error)
		error = addresses_read(&subject->addresses);
	if (error)
		return command_error("cannot read the interfaces and their addresses: %s", strerror(-error));
	subject->link = links_by_name(&subject->links, interface);
	subject->ip = subject->link ? links_of_ip(&subject->links, subject->link) : NULL;
	read_program(subject);
	read_conf(subject, config_file);
	subject->sockets_error = diag_read(&subject->sockets);
	subject->ruleset_error = ruleset_read(&subject->ruleset, &subject->ruleset_tables);
	if (vips)
		return vips_add_list(&subject->vips, vips, word)
			       ? COMMAND_OK
			       : command_usage("--vip: '%s' is not an address or a prefix", word);
	if (subject->conf.allow_to.count)
		vips_add_prefixes(&subject->vips, &subject->conf.allow_to);
	else
		vips_add_of_lo(&subject->vips, &subject->addresses, &subject->links);
	return COMMAND_OK;
}

void subject_free(struct check_subject *subject)
{
	links_free(&subject->links);
	addresses_free(&subject->addresses);
	diag_free(&subject->sockets);
	redirect_conf_free(&subject->conf);
	faults_clear(&subject->faults);
	json_decref(subject->ruleset);
	subject->ruleset = NULL;
}
