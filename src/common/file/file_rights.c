/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file/file_rights.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_ATTRIBUTE "system.posix_acl_access"

/* The value of an extended attribute. */
struct value {
	char *bytes; /* malloc'd; NULL: the file does not have it, or the file system has no such attributes */
	size_t size;
};

/* Returns 0 or -errno. The caller frees value->bytes. */
static int read_value(const char *path, const char *name, struct value *value)
{
	ssize_t size;

	*value = (struct value){0};
	do { /* again if another process made the value longer in between */
		size = getxattr(path, name, NULL, 0);
		if (size < 0)
			break;
		free(value->bytes);
		value->bytes = malloc((size_t)size + 1);
		if (!value->bytes)
			return -ENOMEM;
		size = getxattr(path, name, value->bytes, (size_t)size);
	} while (size < 0 && errno == ERANGE);
	if (size >= 0) {
		value->size = (size_t)size;
		return 0;
	}
	free(value->bytes);
	value->bytes = NULL;
	return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
}

/* Returns the entry of an ACL that has this tag, or NULL. */
static struct posix_acl_xattr_entry *find_entry(const struct value *acl, uint16_t tag)
{
	size_t at = sizeof(struct posix_acl_xattr_header);

	for (; at + sizeof(struct posix_acl_xattr_entry) <= acl->size; at += sizeof(struct posix_acl_xattr_entry)) {
		struct posix_acl_xattr_entry *entry = (void *)(acl->bytes + at);

		if (le16toh(entry->e_tag) == tag)
			return entry;
	}
	return NULL;
}

static mode_t permissions(const struct value *acl, uint16_t tag)
{
	const struct posix_acl_xattr_entry *entry = find_entry(acl, tag);

	return entry ? le16toh(entry->e_perm) & 7 : 7;
}

/* Returns the rights of the file's group, as bits of a mode. */
static mode_t group_rights(const char *path, mode_t mode)
{
	mode_t group = mode & 070;
	struct value acl;

	if (read_value(path, ACL_ATTRIBUTE, &acl) < 0)
		return 0;
	if (acl.bytes)
		group &= permissions(&acl, ACL_GROUP_OBJ) << 3;
	free(acl.bytes);
	return group;
}

mode_t file_rights_of_new(const char *source)
{
	mode_t mask = umask(077), mode = 0666 & ~mask;
	struct stat info;

	umask(mask);
	if (source && stat(source, &info) == 0)
		mode &= 0600 | group_rights(source, info.st_mode) | (info.st_mode & 07);
	return mode;
}

/* Returns -errno with an error in faults. */
static int failed(struct faults *faults, const char *what)
{
	int error = errno;

	faults_error(
		faults, NULL, "the %s of the new file cannot be set: %s; the file is unchanged", what, strerror(error));
	return -error;
}

/* Keeps owner and group, or only the group, as far as that is permitted. Sets *same if the group is kept. */
static int copy_owner(int fd, const struct stat *old, bool *same, struct faults *faults)
{
	struct stat new;

	if (fstat(fd, &new) < 0)
		return failed(faults, "owner");
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) < 0) {
		if (errno != EPERM || (fchown(fd, (uid_t)-1, old->st_gid) < 0 && errno != EPERM))
			return failed(faults, "owner");
	}
	if (fstat(fd, &new) < 0)
		return failed(faults, "owner");
	*same = new.st_gid == old->st_gid;
	return 0;
}

/* The ACL has the mode, too, so the file does not have the mode without the ACL for a moment. */
static int set_acl(int fd, const struct value *acl, bool same_group, struct faults *faults)
{
	struct posix_acl_xattr_entry *group = find_entry(acl, ACL_GROUP_OBJ);

	if (!same_group && group)
		group->e_perm = htole16((uint16_t)(permissions(acl, ACL_GROUP_OBJ) & permissions(acl, ACL_OTHER)));
	return fsetxattr(fd, ACL_ATTRIBUTE, acl->bytes, acl->size, 0) < 0 ? failed(faults, "access control list") : 0;
}

/* A new file in a folder with a default ACL has that one. */
static int set_mode(int fd, mode_t mode, bool same_group, struct faults *faults)
{
	if (!same_group)
		mode &= ~070 | (mode & 07) << 3;
	if (fremovexattr(fd, ACL_ATTRIBUTE) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return failed(faults, "access control list");
	return fchmod(fd, mode & 0777) < 0 ? failed(faults, "mode") : 0;
}

static bool is_kept(const char *name)
{
	return strncmp(name, "user.", 5) == 0 || strcmp(name, "security.selinux") == 0 ||
	       strcmp(name, "security.SMACK64") == 0;
}

/* Does not set what the file already has, because a label may only be set with special rights. */
static void copy_attribute(int fd, const char *model, const char *name, struct faults *faults)
{
	struct value value;
	int error = read_value(model, name, &value);
	char *now = value.bytes ? malloc(value.size + 1) : NULL;

	if (now && (fgetxattr(fd, name, now, value.size) != (ssize_t)value.size || memcmp(now, value.bytes, value.size)) &&
		fsetxattr(fd, name, value.bytes, value.size, 0) < 0)
		error = -errno;
	if (error)
		faults_warn(faults, NULL, "its extended attribute %s is not kept: %s", name, strerror(-error));
	free(now);
	free(value.bytes);
}

static void copy_attributes(int fd, const char *model, struct faults *faults)
{
	ssize_t size = listxattr(model, NULL, 0);
	char *names = size > 0 ? malloc((size_t)size) : NULL;

	if (names)
		size = listxattr(model, names, (size_t)size);
	for (ssize_t at = 0; names && at < size; at += (ssize_t)strlen(names + at) + 1)
		if (is_kept(names + at))
			copy_attribute(fd, model, names + at, faults);
	free(names);
}

int file_rights_copy(int fd, const char *model, const struct stat *old, struct faults *faults)
{
	struct value acl;
	bool same_group = false;
	int error = copy_owner(fd, old, &same_group, faults);

	if (error)
		return error;
	copy_attributes(fd, model, faults); /* now, because the mode may forbid it */
	errno = -read_value(model, ACL_ATTRIBUTE, &acl);
	if (errno)
		return failed(faults, "access control list");
	error = acl.bytes ? set_acl(fd, &acl, same_group, faults) : set_mode(fd, old->st_mode, same_group, faults);
	free(acl.bytes);
	return error;
}
