/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples where the main lcore spends its time: a timer interrupts the lcore and records the address of
 * the interrupted instruction. The measured code is the shipped one, without instrumentation. figures/stages.py
 * maps the addresses to stages.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Records samples while *wanted is true. Exits if there is no timer. */
void sampler_start(const volatile bool *wanted);

/*
 * Stops, and writes the addresses in hexadecimal, one per line, as offsets in the executable. An address
 * outside of the executable is 0.
 */
void sampler_stop(FILE *to);
