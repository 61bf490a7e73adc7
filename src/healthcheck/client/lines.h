/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints text for people to stdout, in lines that fit a terminal. One thread. */
#ifndef GLB_HEALTHCHECK_CLIENT_LINES_H
#define GLB_HEALTHCHECK_CLIENT_LINES_H

#define LINES_COLUMNS 80

/* Prints a text in as many lines as it needs. All lines but the first are indented. The text may come from a
 * stranger. */
void lines_print(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
