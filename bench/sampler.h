/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the main lcore's time goes: a timer interrupts it, and what it was executing is noted. Every
 * instruction of the shipped code is seen as it runs; nothing is added to it. stages.py says which
 * stage an instruction belongs to.
 */
#ifndef GLB_BENCH_SAMPLER_H
#define GLB_BENCH_SAMPLER_H

#include <stdbool.h>
#include <stdio.h>

/* Notes only while *wanted. Ends the process where there is no timer. */
void sampler_start(const volatile bool *wanted);

/* Writes the addresses, as the executable file has them, one a line; others than its own are 0. */
void sampler_stop(FILE *to);

#endif
