/* SPDX-License-Identifier: BSD-3-Clause */
#include "bifurcate/vf/vf_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/file/file.h"
#include "common/file/file_lock.h"
#include "program/member.h"

#define MAX_SIZE 4096
#define PATH     VF_RECORD_FOLDER "/%s.json"

static bool take_text(const json_t *json, const char *key, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(json, key));

	if (value)
		snprintf(text, size, "%s", value);
	return value;
}

static bool take(const json_t *json, struct vf_record *record)
{
	struct vf_attributes *attributes = &record->attributes;
	const json_t *mac = json_object_get(json, "mac");

	*record = (struct vf_record){
		.exists = true,
		.vf = (unsigned)member_number(json, "vf"),
		.made_vfs = (unsigned)member_number(json, "made_vfs"),
		.made_switchdev = json_is_true(json_object_get(json, "made_switchdev")),
		.made_rules = json_is_true(json_object_get(json, "made_rules")),
		.autoprobe = json_is_true(json_object_get(json, "autoprobe")),
	};
	attributes->vlan = (unsigned)member_number(json, "vlan");
	attributes->spoof_check = (enum vf_switch)member_number(json, "spoof_check");
	attributes->trust = (enum vf_switch)member_number(json, "trust");
	for (size_t i = 0; i < sizeof(attributes->mac); i++)
		attributes->mac[i] = (uint8_t)json_integer_value(json_array_get(mac, i));
	attributes->known = json_is_array(mac);
	return take_text(json, "name", record->name, sizeof(record->name)) &&
	       take_text(json, "driver", record->driver, sizeof(record->driver)) &&
	       take_text(json, "driver_override", record->override, sizeof(record->override));
}

int vf_record_read(const struct host *host, const char *pf, struct vf_record *record, struct faults *faults)
{
	const char *path = host_path(host, PATH, pf), *file = faults->file;
	json_t *json;
	bool valid;
	size_t size;
	char *text;
	int error;

	*record = (struct vf_record){0};
	if (!host_exists(path))
		return 0;
	faults->file = path;
	error = file_read(path, "a record", MAX_SIZE, &text, &size, faults);
	json = error ? NULL : json_loadb(text, size, 0, NULL);
	valid = json && take(json, record);
	if (!error && !valid) {
		faults_error(faults, NULL,
			"glb-bifurcate did not write this: remove the file; `undo --force` then removes the VFs");
		error = -EINVAL;
	}
	faults->file = file;
	json_decref(json);
	free(text);
	return error;
}

struct search {
	const struct host *host;
	const char *name;
	char *pf;
	bool found;
};

static void examine(void *context, const char *file)
{
	struct search *search = context;
	const char *end = strstr(file, ".json");
	struct faults none = {0};
	struct vf_record record;
	char pf[VF_PCI_MAX];

	if (search->found || !end || end[5] || end - file >= VF_PCI_MAX)
		return;
	snprintf(pf, sizeof(pf), "%.*s", (int)(end - file), file);
	search->found = vf_record_read(search->host, pf, &record, &none) == 0 && strcmp(record.name, search->name) == 0;
	if (search->found)
		memcpy(search->pf, pf, sizeof(pf));
	faults_clear(&none);
}

bool vf_record_find(const struct host *host, const char *name, char pf[VF_PCI_MAX])
{
	struct search search = {.host = host, .name = name, .pf = pf};

	host_each(host_path(host, VF_RECORD_FOLDER), examine, &search);
	return search.found;
}

int vf_record_write(const char *pf, const struct vf_record *record, struct faults *faults)
{
	const struct vf_attributes *before = &record->attributes;
	const char *file = faults->file;
	const uint8_t *mac = before->mac;
	char path[sizeof(PATH) + VF_PCI_MAX], *text;
	json_t *json, *bytes = NULL;
	int error;

	if (before->known)
		bytes = json_pack("[i, i, i, i, i, i]", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	json = json_pack("{s:s, s:i, s:i, s:b, s:b, s:b, s:s, s:s, s:o*, s:i, s:i, s:i}", "name", record->name, "vf",
		(int)record->vf, "made_vfs", (int)record->made_vfs, "made_switchdev", record->made_switchdev,
		"made_rules", record->made_rules, "autoprobe", record->autoprobe, "driver", record->driver,
		"driver_override", record->override, "mac", bytes, "vlan", (int)before->vlan, "spoof_check",
		(int)before->spoof_check, "trust", (int)before->trust);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	snprintf(path, sizeof(path), PATH, pf);
	faults->file = path;
	error = text ? file_replace(path, NULL, text, strlen(text), faults) : -ENOMEM;
	if (!text)
		faults_error(faults, NULL, "out of memory");
	faults->file = file;
	json_decref(json);
	free(text);
	return error;
}

int vf_record_remove(const char *pf, struct faults *faults)
{
	char path[sizeof(PATH) + VF_PCI_MAX];
	int error;

	snprintf(path, sizeof(path), PATH, pf);
	error = unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
	if (error)
		faults_error(faults, path, "cannot remove it: %s", strerror(-error));
	return error;
}

int vf_record_lock(const char *pf, struct faults *faults)
{
	char path[sizeof(PATH) + VF_PCI_MAX];
	char holder[FILE_LOCK_HOLDER_MAX];
	int error;

	snprintf(path, sizeof(path), PATH, pf);
	error = mkdir(VF_RECORD_FOLDER, 0755) == 0 || errno == EEXIST ? 0 : -errno;
	if (!error)
		error = file_lock(path, 0, holder);
	if (error >= 0)
		return 0;
	if (error == -EWOULDBLOCK)
		faults_error(faults, pf, "%s changes it now: wait until that has ended", holder);
	else
		faults_error(faults, VF_RECORD_FOLDER, "cannot lock: %s%s", strerror(-error),
			error == -EACCES || error == -EPERM ? ": run this as root" : "");
	return error;
}
