/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the values of a page: escaped text, and numbers with units that people can read. Templates call these
 * functions, see compile.py. `<data value="...">` has the exact number, so that a script finds the same as in the
 * metrics. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How a state looks. Its text says it too. */
enum html_state { HTML_OK, HTML_WARN, HTML_BAD, HTML_IDLE };

/*
 * Prints text that may come from anybody, for an element or for an attribute in quotes. Each byte that is no UTF-8, and
 * each control character, becomes U+FFFD. NULL prints nothing.
 */
void html_text(FILE *to, const char *text);

void html_state(FILE *to, enum html_state state, const char *text);

/* "3.21 M", with the exact number as value and title. */
void html_count(FILE *to, uint64_t value);

/* The number as it is: "65536"; for an attribute. */
void html_digits(FILE *to, uint64_t value);

/* The same as an element. */
void html_number(FILE *to, uint64_t value);

/* "1.85 Gbit/s" for the unit "bit/s". NAN: the number is not known yet. */
void html_rate(FILE *to, double value, const char *unit);

/* "12.3 %". NAN: not known. */
void html_percent(FILE *to, double ratio);

/* "210 µs", "3.4 ms", "12 s", "5 min", "3 h", "12 d". NAN: not known. */
void html_seconds(FILE *to, double seconds);

/* The time of day, or the date if it is another day. UTC. 0: never. */
void html_time(FILE *to, uint64_t unix_s);

/* A bar that is full at 1. Above `hot` it has the colour of trouble. NAN: empty. */
void html_bar(FILE *to, double ratio, double hot);

/*
 * A line of `count` values, oldest first, from 0 to the largest of them. The newest one is at the right end of an axis
 * that has room for `span` values. hot: values are trouble. Then the line goes up to HTML_SPARK_HOT at least, so that
 * single packets look like single packets, and it has the colour of trouble if a value reaches HTML_SPARK_HOT.
 */
#define HTML_SPARK_HOT 10
void html_spark(FILE *to, const float *values, unsigned count, unsigned span, bool hot);

/* Results of checks, one character each, oldest first: 'p' passed, 'f' failed, 'x' neither, ' ' none. `label` says it
 * in words. */
void html_strip(FILE *to, const char *results, const char *label);

/* Prints what every page begins with, until <main>: the state of the program on this host. `since`: Unix time; 0:
 * unknown. */
void html_begin(FILE *to, const char *program, enum html_state state, const char *text, uint64_t since);

/* Ends a page early, because its subject has changed. */
void html_changed(FILE *to);

/* Prints what every page ends with. A page without it is not complete. */
void html_end(FILE *to, const char *program);

/* Value of the header Content-Security-Policy of every page. */
extern const char html_policy[];
