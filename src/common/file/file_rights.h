/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies owner, mode, access control list (ACL) and labels to a file that replaces another one, its model. Nobody gets
 * more rights to the new file than to the model. Thread-safe, except for file_rights_of_new(). Only for file.c.
 */
#pragma once

#include <sys/stat.h>

#include "common/faults.h"

/*
 * Returns the mode of a new file: what the umask allows, without rights that the group and others do not have to
 * `source` (NULL: none). If `source` has an ACL, the group bits of its mode are the mask of that ACL, so the group's
 * entry counts. No other thread may create files at the same time, because the umask can only be read by setting it.
 */
mode_t file_rights_of_new(const char *source);

/*
 * Gives the open file the owner, mode, ACL, SELinux or SMACK label and user attributes of the file `model`, whose
 * status is `old`. If the owner's group cannot be kept, the new group only gets what everybody has. At no time does the
 * file have more rights than at the end. 0, with warnings about attributes that cannot be kept; or -errno with an error
 * in faults: the mode or the ACL cannot be kept.
 */
int file_rights_copy(int fd, const char *model, const struct stat *old, struct faults *faults);
