/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads any bytes as one of the configuration files, except director.conf and healthcheck.conf, by the first byte. A
 * file that is refused has an error with a text.
 */
#include "announce/config/announce_conf.h"
#include "announce/config/driver_conf.h"
#include "bifurcate/vf/vf_conf.h"
#include "fleet/fleet_conf.h"
#include "redirect/config/redirect_conf.h"
#include "tests/fuzz/as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KINDS 5

static int read_kind(unsigned kind, const char *path, struct faults *faults)
{
	struct announce_conf announce = {0};
	struct driver_conf driver = {0};
	struct fleet_conf fleet = {0};
	struct redirect_conf redirect;
	struct vf_conf vf = {0};
	int error;

	switch (kind) {
	case 0:
		error = announce_conf_read(path, &announce, faults);
		announce_conf_free(&announce);
		return error;
	case 1:
		error = driver_conf_read(path, &driver, faults);
		driver_conf_free(&driver);
		return error;
	case 2:
		error = fleet_conf_read(path, &fleet, faults);
		fleet_conf_free(&fleet);
		return error;
	case 3:
		redirect_conf_init(&redirect);
		error = redirect_conf_read(path, &redirect, faults);
		redirect_conf_free(&redirect);
		return error;
	default:
		error = vf_conf_read(path, &vf, faults);
		vf_conf_free(&vf);
		return error;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults = {.file = "f"};

	if (size == 0)
		return 0;
	if ((read_kind(data[0] % KINDS, as_file(data + 1, size - 1), &faults) != 0) != (faults.errors > 0))
		abort();
	faults_clear(&faults);
	return 0;
}
