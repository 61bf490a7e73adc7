/* SPDX-License-Identifier: BSD-3-Clause */
/* What the agent tells on its host: the status file, the status line of its unit, and metrics. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "common/faults.h"
#include "program/facts.h"

#define STATUS_MAX ((size_t)1 << 20) /* bytes of the status file */

struct fleet;

/* Writes the status file and tells the service manager, if the status has changed. */
void status_step(struct fleet *fleet);

/* Serves /metrics. Returns false after an error in faults. */
bool status_listen(struct fleet *fleet, struct faults *faults);

/* The metrics, of a struct fleet. */
extern const struct fact status_facts[];
