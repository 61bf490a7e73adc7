/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints in words what differs between two versions of a JSON table. One thread. */
#pragma once

#include "table/file/table_document.h"

/* Prints a line for each difference on stdout. Tables are compared by index. Returns the number of lines. */
unsigned describe_changes(const struct table_document *before, const struct table_document *after);
