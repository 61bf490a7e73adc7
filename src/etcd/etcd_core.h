/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of this folder: the client itself, tasks that it runs when they are due, and calls. */
#pragma once

#include "etcd/etcd.h"

#define ETCD_NEVER UINT64_MAX

/* Part of a mirror or a lease. run() sets due_ms anew, calls no function of the caller, and frees no task. */
struct etcd_task {
	struct etcd_task *next;
	uint64_t due_ms; /* clock_now_ms(); ETCD_NEVER: the task waits for a reply */
	void (*run)(struct etcd_task *task);
};

struct etcd {
	const struct etcd_conf *conf; /* borrowed */
	void *multi; /* libcurl's */
	size_t endpoint, endpoint_count; /* the one in use: an index of conf->endpoints */
	struct etcd_call *calls;
	struct etcd_task *tasks;
	char *token; /* NULL: etcd has to be asked; "": etcd needs none */
	uint64_t token_ms; /* when etcd gave it, clock_now_ms() */
	struct etcd_call *authentication; /* NULL: none runs */
	uint64_t deliveries; /* replies and lines that were passed on */
	struct etcd_state state;
};

/* Sets state.error to "ENDPOINT: TEXT". */
void etcd_say(struct etcd *etcd, size_t endpoint, const char *format, ...) __attribute__((format(printf, 3, 4)));
void etcd_set_connected(struct etcd *etcd, bool connected);
/* Uses the next endpoint, unless another one than the failed one is already in use. */
void etcd_leave_endpoint(struct etcd *etcd, size_t failed);
void etcd_task_add(struct etcd *etcd, struct etcd_task *task);
void etcd_task_remove(struct etcd *etcd, struct etcd_task *task);

/* A line of a stream: the object `result`. May cancel the call. */
typedef void etcd_line(void *data, const json_t *result);

/*
 * A request with its tries: one at each endpoint; of a stream (`line` is set) or a token only one. Runs in etcd_run().
 * Takes the reference of `request`. `reply` also tells the end of a stream, then `body` is NULL. Returns NULL if out of
 * memory.
 */
struct etcd_call *etcd_call_start(
	struct etcd *etcd, const char *path, json_t *request, etcd_line *line, etcd_reply *reply, void *data);
void etcd_call_cancel(struct etcd_call *call); /* `reply` is not called; NULL: does nothing */
size_t etcd_call_endpoint(const struct etcd_call *call);
/* Passes on one line or reply, or takes another step of one call. False: there is none. */
bool etcd_call_deliver(struct etcd *etcd);
/* After an authentication: all calls that wait for the token go on, or have failed with this result. */
void etcd_call_resume(struct etcd *etcd, enum etcd_result result);

/* A call's transfer by libcurl, to the endpoint in use. */
struct etcd_http {
	void *multi, *easy, *headers; /* libcurl's */
	void *call;
	char *bytes; /* received; the first ones are dropped */
	size_t dropped, size, room;
	int code; /* CURLcode, after the end */
	char error[256];
};
struct etcd_http *etcd_http_start(
	struct etcd *etcd, const char *path, const char *request, bool stream, bool once, void *call);
void etcd_http_end(struct etcd_http *http); /* NULL: does nothing */
/* Moves bytes. Returns the call of a transfer that has ended, or NULL. */
void *etcd_http_perform(struct etcd *etcd);
long etcd_http_status(const struct etcd_http *http);
void etcd_http_drop(struct etcd_http *http, size_t size); /* the first bytes */
/* After the end. Unless it is done, sets *sent, whether etcd may have got the request. state.error says what to do. */
enum etcd_result etcd_http_result(struct etcd *etcd, size_t endpoint, const struct etcd_http *http, bool *sent);

#define ETCD_AUTHENTICATE "/v3/auth/authenticate"
void etcd_auth_start(struct etcd *etcd); /* asks for a token, unless that runs already */
/* A request with the token had no reply. */
void etcd_auth_doubt(struct etcd *etcd);

/* Parses text that may come from a stranger. NULL: it is no object, or has too many values. */
json_t *etcd_parse(const char *text, size_t size);
/* Returns a member that is a number, or a text with its decimal digits; 0: there is none. */
uint64_t etcd_number(const json_t *object, const char *key);
json_t *etcd_kv_keys(const char *key, bool prefix); /* {"key", "range_end"} of a range or a watch */
/* Decodes {"key", "value"...}. False: it has no key that is text. etcd_kv_free() in any case. */
bool etcd_kv_decode(const json_t *pair, bool deleted, struct etcd_kv *kv);
