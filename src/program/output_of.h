/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs another program and reads what it prints. Blocks until it ends, at most a second longer than
 * OUTPUT_OF_TIMEOUT_S. One thread. */
#pragma once

#include <stddef.h>

#define OUTPUT_OF_TIMEOUT_S 20
#define OUTPUT_OF_MAX       (256u << 20) /* bytes; a rule set with a million elements has less */
#define OUTPUT_OF_SIGNAL    4096 /* beyond the numbers of errno */

/*
 * words: the program's name, which is searched in PATH and in the folders of system programs, and its arguments, with
 * NULL at the end. Sets *text, which ends with NUL and which the caller frees, and *size. Returns 0, or -errno:
 * -ENOENT: there is no such program; -ETIMEDOUT: it was killed; -EFBIG: so was this one, which printed more than
 * OUTPUT_OF_MAX; -EIO: it failed. Or returns -(OUTPUT_OF_SIGNAL + N): signal N ended it.
 */
int output_of(char *const words[], char **text, size_t *size);

/*
 * The same, but the text is also what the program prints on stderr, and on -EIO *text is set, too, because it says what
 * failed. *text is NULL on all other errors.
 */
int output_of_both(char *const words[], char **text, size_t *size);

/* Returns why, for an error of these functions, until the next call. strerror() would tell of a connection that timed
 * out. */
const char *output_of_reason(int error);
