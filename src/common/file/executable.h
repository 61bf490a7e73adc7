/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks programs that operators name in configurations. Thread-safe. */
#pragma once

#define EXECUTABLE_FAULT_MAX 192

/* Returns NULL if the program can be run and only its owner and group can change it; else why not, in buf. */
const char *executable_fault(const char *path, char buf[EXECUTABLE_FAULT_MAX]);
