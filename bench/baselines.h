/* SPDX-License-Identifier: BSD-3-Clause */
/* What to compare the director with. Each runs until *stop, on the port and queue 0. */
#ifndef GLB_BENCH_BASELINES_H
#define GLB_BENCH_BASELINES_H

#include <stdbool.h>
#include <stdint.h>

/* Receives and sends. */
void baseline_io(uint16_t port, const bool *stop);

/* And exchanges the Ethernet addresses, as testpmd's engine of that name. */
void baseline_macswap(uint16_t port, const bool *stop);

/* What no encapsulation can do without: reads the mbuf and the headers, stores 54 bytes before the
 * packet. */
void baseline_floor(uint16_t port, const bool *stop);

#endif
