/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's health: a state, and the reasons for it. It says whether packets should be sent to this director, so
 * routing daemons ask for it. The control thread changes it; other threads copy it with health_report_now().
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define HEALTH_MAX_REASONS 16
#define HEALTH_OBJECT_SIZE 64
#define HEALTH_TEXT_SIZE   224

enum health_state {
	HEALTH_STARTING, /* it cannot forward yet; ends at the first evaluation without a failing reason */
	HEALTH_OK,
	HEALTH_DEGRADED, /* it forwards, but something is lost or at risk */
	HEALTH_FAILING, /* it cannot do its work */
	HEALTH_STOPPING, /* it will end soon; remains until the end */
};

enum health_severity {
	HEALTH_DEGRADES,
	HEALTH_FAILS,
};

/*
 * member, name. The name is stable and appears in replies. docs/reference/health.md has a row for each.
 */
#define HEALTH_CAUSES(X)                        \
	X(LINK_DOWN, "link_down")               \
	X(PORT_RESET, "port_reset")             \
	X(PORT_REMOVED, "port_removed")         \
	X(WORKER_STUCK, "worker_stuck")         \
	X(NO_NEXT_HOP, "no_next_hop")           \
	X(NEXT_HOP_LOST, "next_hop_lost")       \
	X(NO_GOOD_BACKEND, "no_good_backend")   \
	X(RELOAD_FAILED, "reload_failed")       \
	X(TRANSMIT_FAILS, "transmit_fails")     \
	X(RECEIVE_FAILS, "receive_fails")       \
	X(EXCEPTION_DROPS, "exception_drops")   \
	X(EXCEPTION_DOWN, "exception_down")     \
	X(MTU_TOO_SMALL, "mtu_too_small")       \
	X(UNDERLAY_TOO_BIG, "underlay_too_big") \
	X(CONTROL_STUCK, "control_stuck")

enum health_cause {
#define X(member, name) HEALTH_##member,
	HEALTH_CAUSES(X)
#undef X
};

struct health_reason {
	enum health_cause cause;
	enum health_severity severity;
	char object[HEALTH_OBJECT_SIZE]; /* what has the problem: "port 0 (net_pcap0)" */
	char text[HEALTH_TEXT_SIZE]; /* a sentence for people; may change while the reason stays the same */
	uint64_t since; /* Unix time in seconds at which an evaluation first found it */
};

struct health_report {
	bool fails; /* one of the reasons, or of the omitted ones, has HEALTH_FAILS */
	uint32_t found; /* number of reasons: `count` are in reasons[], and for the omitted ones there was no room */
	uint32_t count, omitted;
	struct health_reason reasons[HEALTH_MAX_REASONS];
};

struct health {
	pthread_mutex_t lock;
	enum health_state state;
	uint64_t since; /* Unix time in seconds of the last change of state */
	uint64_t evaluated_ms; /* CLOCK_MONOTONIC */
	uint64_t stale_ms; /* an evaluation is worth nothing after this time; set before other threads run */
	struct health_report report;
};

/* Appends a reason. Reasons of one cause must have different objects. If there is no room, it is only counted. */
void health_add(struct health_report *report, enum health_cause cause, enum health_severity severity,
	const char *object, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Begins in HEALTH_STARTING. now: Unix time in seconds. */
void health_open(struct health *health, uint64_t now);

/*
 * Takes over the reasons that an evaluation has found; a reason that was there before keeps its time. Returns whether
 * the state, or the set of reasons, has changed.
 */
bool health_update(struct health *health, const struct health_report *found, uint64_t now, uint64_t now_ms);

/* Sets the state to HEALTH_STOPPING. */
void health_stop(struct health *health, uint64_t now);

/* The same for people: if the control thread has stopped evaluating, the copy says only that. Times as in
 * health_update(). */
void health_report_now(struct health *health, struct health *copy, uint64_t now, uint64_t now_ms);

/* "starting", "ok", "degraded", "failing" or "stopping" */
const char *health_state_name(enum health_state state);

/* "degraded" or "failing": the state that the reason leads to. */
const char *health_severity_name(enum health_severity severity);

/* The name in HEALTH_CAUSES. */
const char *health_cause_name(enum health_cause cause);
