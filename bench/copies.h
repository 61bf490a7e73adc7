/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of the worker, compiled from its sources with the same options, except that they do more or less for people who watch the
 * director: WORKER_WATCHES in worker/counters.h.
 */
#pragma once

int worker_run_unwatched(void *argument);
int worker_run_watched(void *argument);
