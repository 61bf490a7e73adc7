/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the service manager and the log what the director does: it starts, is ready, reloads, or stops. The health
 * decides when it is ready. Control thread only.
 */
#pragma once

#include "director/director.h"

/* Remembers what the director has told the service manager. */
struct announced {
	bool ready; /* the director is ready, and the log says so */
	bool told; /* the service manager has got READY=1 and the last status */
	bool unread; /* it did not take the last of these messages */
	bool reloading; /* RELOADING=1 was sent, and READY=1 must follow */
	bool stopping; /* STOPPING=1 was sent */
};

/*
 * Called after each evaluation of the health. While the director is starting, extends the start timeout and says
 * what is missing; when it can forward, says once that it is ready. Later sends the status if the evaluation has
 * `changed` it.
 */
void announce_health(struct announced *announced, struct director *director, bool changed);

/* Called when a reload begins, and after the evaluation that follows its end. */
void announce_reload(struct announced *announced);
void announce_reloaded(struct announced *announced, struct director *director);

/* Called when the director will stop after delay_ms. */
void announce_stop(struct announced *announced, unsigned delay_ms);
