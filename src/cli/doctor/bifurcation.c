/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the VFs that glb-bifurcate makes when this host starts: /etc/glb/bifurcate.d/NAME.conf. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bifurcate/vf/vf_conf.h"
#include "cli/doctor/doctor.h"
#include "program/installed.h"

#define SUFFIX ".conf"

/* glb-bifurcate makes only the first VF of a card. */
static const struct finding one_card = {FINDINGS_FAIL, NULL,
	"{1}: {2} has the same, so only one of the two VFs is made when this host starts: remove one file"};
static const struct finding one_mac = {FINDINGS_FAIL, NULL,
	"{1}: {2} has the same, so packets for one of the two VFs can go to the other: choose another MAC for one"};
static const struct finding errors = {FINDINGS_FAIL, "glb-director-cli check {0}",
	"it has errors, so the VF of the director is not made when this host starts"};

struct visit {
	const struct doctor *doctor;
	doctor_each_vf *each;
};

/* The unit glb-bifurcate@NAME reads NAME.conf, and no backup of it. */
static bool is_configuration(const char *file)
{
	size_t size = strlen(file);

	return *file != '.' && size > strlen(SUFFIX) && strcmp(file + size - strlen(SUFFIX), SUFFIX) == 0;
}

static void visit_file(void *context, const char *file)
{
	struct visit *visit = context;
	size_t size = strlen(file);
	char name[HOST_ENTRY_MAX];

	if (!is_configuration(file))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(size - strlen(SUFFIX)), file);
	visit->each(visit->doctor, name);
}

void doctor_vfs(const struct doctor *doctor, doctor_each_vf *each)
{
	struct visit visit = {.doctor = doctor, .each = each};

	host_each(host_path(&doctor->host, INSTALLED_BIFURCATE), visit_file, &visit);
}

/* A configuration and the others that may clash with it. */
struct pair {
	const struct doctor *doctor;
	const struct vf_conf *conf;
	const char *path;
	bool reported;
};

static void compare(void *context, const char *file)
{
	struct pair *pair = context;
	const char *path = host_path(&pair->doctor->host, INSTALLED_BIFURCATE "/%s", file), *key;
	struct faults none = {.file = path};
	struct vf_conf other;

	/* Each two files are compared once. */
	if (!is_configuration(file) || strcmp(path, pair->path) >= 0 || vf_conf_read(path, &other, &none) != 0) {
		faults_clear(&none);
		return;
	}
	key = vf_conf_clash(pair->conf, &other);
	if (key) {
		findings_add(strcmp(key, "mac") == 0 ? &one_mac : &one_card, pair->path, key, path);
		pair->reported = true;
	}
	vf_conf_free(&other);
	faults_clear(&none);
}

static void check_file(const struct doctor *doctor, const char *name)
{
	char path[PATH_MAX];
	struct faults faults = {.file = path};
	struct vf_conf conf;
	struct pair pair = {.doctor = doctor, .conf = &conf, .path = path};

	snprintf(path, sizeof(path), "%s", host_path(&doctor->host, INSTALLED_BIFURCATE "/%s" SUFFIX, name));
	if (vf_conf_read(path, &conf, &faults) != 0) {
		findings_add(&errors, path);
	} else {
		host_each(host_path(&doctor->host, INSTALLED_BIFURCATE), compare, &pair);
		if (!pair.reported)
			findings_ok(path, "valid");
		vf_conf_free(&conf);
	}
	faults_clear(&faults);
}

void doctor_vf_configurations(const struct doctor *doctor)
{
	doctor_vfs(doctor, check_file);
}
