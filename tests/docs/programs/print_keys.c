/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the keys of all configuration files for tests/docs/test_configuration_keys.py. Each line has, with tabs between
 * them: file, key with the names of its groups, kind of value, least and largest value, whether it is required, default.
 * Choices are the kind.
 */
#include <stdio.h>

#include "conf/conf_reader.h"

extern const struct conf_key conf_keys[], conf_healthcheck_keys[], redirect_conf_keys[], vf_conf_keys[],
	announce_conf_keys[], driver_conf_keys[], fleet_conf_keys[];

static void print_kind(const struct conf_key *key)
{
	if (key->read == conf_read_bool)
		printf("boolean");
	else if (key->read == conf_read_uint16 || key->read == conf_read_unsigned)
		printf("integer");
	else if (key->read != conf_read_choice)
		printf(key->keys ? "group" : "other");
	for (const char *const *choice = key->choices; choice && *choice; choice++)
		printf("%s\"%s\"", choice == key->choices ? "" : ", ", *choice);
}

static void print_keys(const char *file, const char *group, const struct conf_key *keys)
{
	for (; keys->name; keys++) {
		char path[128];

		snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "", keys->name);
		printf("%s\t%s\t", file, path);
		print_kind(keys);
		printf("\t%ld\t%ld\t%s\t%s\n", keys->min, keys->max, keys->required ? "required" : "",
			keys->fallback ? keys->fallback : "");
		if (keys->keys)
			print_keys(file, path, keys->keys);
	}
}

int main(void)
{
	print_keys("director.conf", "", conf_keys);
	print_keys("healthcheck.conf", "", conf_healthcheck_keys);
	print_keys("redirect.conf", "", redirect_conf_keys);
	print_keys("bifurcate.conf", "", vf_conf_keys);
	print_keys("announce.conf", "", announce_conf_keys);
	print_keys("fleet.conf", "", fleet_conf_keys);
	print_keys("driver file", "", driver_conf_keys);
	return 0;
}
