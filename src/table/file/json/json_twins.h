/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds addresses that an array lists twice. Not thread-safe. */
#ifndef GLB_TABLE_FILE_JSON_JSON_TWINS_H
#define GLB_TABLE_FILE_JSON_JSON_TWINS_H

#include <stddef.h>
#include <stdint.h>

#include "common/netaddr.h"
#include "table/file/json/json_reader.h"

/*
 * The path of the reader is that of an array of `count` objects, and `first` is the address of the first one, which
 * member `ip` has. The others follow at a distance of `stride` bytes. Adds an error for each address that an earlier
 * object has, too. Ignores addresses that could not be read: they have no family.
 */
void json_twins_check(struct json_reader *reader, const struct netaddr *first, size_t stride, uint32_t count);

#endif
