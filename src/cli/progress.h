/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells people that a long command still works. One thread. */
#pragma once

#include <stddef.h>

/*
 * Prints "WHAT: DONE of COUNT" on stderr if stderr is a terminal, and 2 s have passed since the first call, or since
 * the last line. A loop calls it as often as it likes.
 */
void progress(const char *what, size_t done, size_t count);
