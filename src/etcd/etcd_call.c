/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd_core.h"

struct etcd_call {
	struct etcd *etcd;
	struct etcd_call *next;
	const char *path;
	char *request;
	etcd_line *line; /* NULL: the reply is one object */
	etcd_reply *reply;
	void *data;
	enum { CALL_START, CALL_NEEDS_TOKEN, CALL_RUNS, CALL_ENDED, CALL_FAILED } step;
	enum etcd_result failure; /* of CALL_FAILED */
	struct etcd_http *http; /* NULL before CALL_RUNS */
	size_t tries; /* that are left */
	size_t endpoint; /* of the last try */
	size_t searched; /* the first bytes of a stream that have no newline */
	bool had_new_token;
};

/* Codes of gRPC. */
enum { DEADLINE_EXCEEDED = 4, PERMISSION_DENIED = 7, UNAVAILABLE = 14, UNAUTHENTICATED = 16 };

/* A range, and everything about leases and tokens, may be carried out twice. */
static bool is_repeatable(const struct etcd_call *call)
{
	return strncmp(call->path, "/v3/kv/", 7) != 0 || strcmp(call->path, ETCD_RANGE) == 0;
}

void etcd_call_cancel(struct etcd_call *call)
{
	if (!call)
		return;
	for (struct etcd_call **at = &call->etcd->calls; *at; at = &(*at)->next)
		if (*at == call) {
			*at = call->next;
			break;
		}
	etcd_http_end(call->http);
	free(call->request);
	free(call);
}

static void finish(struct etcd_call *call, enum etcd_result result, const json_t *body)
{
	etcd_reply *reply = call->reply;
	void *data = call->data;

	/* After the loss of a stream, a request is sent that tells. */
	if (result != ETCD_UNREACHABLE || !call->line)
		etcd_set_connected(call->etcd, result != ETCD_UNREACHABLE);
	call->etcd->deliveries++;
	etcd_call_cancel(call);
	reply(data, result, body);
}

/* The next try, if there is one, goes to the endpoint that is then in use. arrived: etcd may have carried it out. */
static void fail(struct etcd_call *call, enum etcd_result result, bool arrived)
{
	bool leaves = result == ETCD_UNREACHABLE || result == ETCD_TOO_LARGE;

	if (leaves)
		etcd_leave_endpoint(call->etcd, call->endpoint);
	call->tries--;
	if (leaves && call->tries && (!arrived || is_repeatable(call)))
		call->step = CALL_START;
	else
		finish(call, result, NULL);
}

/* The token has expired, was made before users or roles changed, or is missing because etcd began to need one. */
static bool refuses_token(const char *message, json_int_t code)
{
	return code == UNAUTHENTICATED || strstr(message, "invalid auth token") ||
	       strstr(message, "user name is empty") || strstr(message, "revision in header is old") ||
	       strstr(message, "revision of auth store is old");
}

/* The reply, or a line of a stream, is {"error": TEXT, "code"...} or {"error": {"message", "grpc_code"...}}. */
static void fail_by_error(struct etcd_call *call, const json_t *body)
{
	const json_t *error = json_object_get(body, "error"), *inner = json_is_object(error) ? error : body;
	const char *message = json_string_value(json_object_get(inner, "message")), *hint = "";
	const json_t *grpc_code = json_object_get(inner, "grpc_code");
	json_int_t code = json_integer_value(grpc_code ? grpc_code : json_object_get(inner, "code"));
	enum etcd_result result = ETCD_REFUSED;

	message = message ? message : json_is_string(error) ? json_string_value(error) : "an error without a text";
	if (refuses_token(message, code) && call->etcd->conf->user && !call->had_new_token) {
		free(call->etcd->token);
		call->etcd->token = NULL;
		call->had_new_token = true;
		call->step = CALL_START;
		return;
	}
	if (code == UNAVAILABLE || code == DEADLINE_EXCEEDED) {
		result = ETCD_UNREACHABLE;
		hint = "; a majority of etcd's members must run and reach each other";
	} else if (refuses_token(message, code) || code == PERMISSION_DENIED ||
		   strstr(message, "invalid user ID or password")) {
		result = ETCD_DENIED;
		hint = "; check user and password_file, and the roles that etcd gives to this user";
	}
	etcd_say(call->etcd, call->endpoint, "%.200s%s", message, hint);
	/* A member without a leader refuses what asks for one, see etcd_http.c, before it does anything. */
	fail(call, result, strcmp(message, "etcdserver: no leader") != 0);
}

static void note_header(struct etcd *etcd, const json_t *body)
{
	const json_t *header = json_object_get(body, "header");
	uint64_t revision = etcd_number(header, "revision");

	if (!header)
		return;
	etcd->state.cluster = etcd_number(header, "cluster_id");
	if (revision) /* replies about tokens have none */
		etcd->state.revision = revision;
}

/* Reads the reply after its last byte. A stream has passed on its lines. */
static void end(struct etcd_call *call)
{
	struct etcd *etcd = call->etcd;
	long status = etcd_http_status(call->http);
	json_t *body;
	bool sent;
	enum etcd_result result = etcd_http_result(etcd, call->endpoint, call->http, &sent);

	if (result != ETCD_DONE) {
		if (sent && !call->line)
			etcd_auth_doubt(etcd);
		fail(call, is_repeatable(call) ? result : ETCD_UNREACHABLE, sent);
		return;
	}
	if (call->line && status == 200) {
		finish(call, ETCD_DONE, NULL);
		return;
	}
	body = etcd_parse(call->http->bytes, call->http->size);
	if (json_object_get(body, "error")) {
		fail_by_error(call, body);
	} else if (body && status == 200) {
		*etcd->state.error = '\0';
		note_header(etcd, body);
		finish(call, ETCD_DONE, body);
	} else {
		etcd_say(etcd, call->endpoint, "HTTP status %ld%s; check that this is a client URL of etcd 3.4 or newer",
			status, body ? "" : " and a reply that is not JSON of etcd");
		fail(call, ETCD_UNREACHABLE, true);
	}
	json_decref(body);
}

/* Passes on the next line of a stream, if it is complete. */
static bool deliver_line(struct etcd_call *call)
{
	const struct etcd_http *http = call->http;
	size_t size = http->size - http->dropped, length;
	const char *text = size ? http->bytes + http->dropped : "", *newline = NULL;
	json_t *line;

	if (size > call->searched && etcd_http_status(http) == 200)
		newline = memchr(text + call->searched, '\n', size - call->searched);
	call->searched = newline ? 0 : size;
	if (!newline)
		return false;
	length = (size_t)(newline - text);
	line = etcd_parse(text, length);
	etcd_http_drop(call->http, length + 1);
	call->etcd->deliveries++;
	if (json_object_get(line, "error")) {
		fail_by_error(call, line);
	} else if (!json_is_object(json_object_get(line, "result"))) {
		etcd_say(call->etcd, call->endpoint, "a line of a stream is not JSON of etcd");
		fail(call, ETCD_UNREACHABLE, true);
	} else {
		etcd_set_connected(call->etcd, true);
		note_header(call->etcd, json_object_get(line, "result"));
		call->line(call->data, json_object_get(line, "result"));
	}
	json_decref(line);
	return true;
}

static void start(struct etcd_call *call)
{
	struct etcd *etcd = call->etcd;

	etcd_http_end(call->http);
	call->http = NULL;
	call->searched = 0;
	if (etcd->conf->user && !etcd->token && strcmp(call->path, ETCD_AUTHENTICATE) != 0) {
		call->endpoint = etcd->endpoint_count; /* none: its failure is that of the authentication */
		call->step = CALL_NEEDS_TOKEN;
		etcd_auth_start(etcd);
		return;
	}
	call->endpoint = etcd->endpoint;
	call->step = CALL_RUNS;
	if (call->request)
		call->http = etcd_http_start(etcd, call->path, call->request, call->line, !is_repeatable(call), call);
	if (!call->http) {
		etcd_say(etcd, etcd->endpoint, "out of memory for a request");
		finish(call, ETCD_UNREACHABLE, NULL);
	}
}

struct etcd_call *etcd_call_start(
	struct etcd *etcd, const char *path, json_t *request, etcd_line *line, etcd_reply *reply, void *data)
{
	struct etcd_call *call = calloc(1, sizeof(*call));
	bool once = line || strcmp(path, ETCD_AUTHENTICATE) == 0;

	if (call) {
		*call = (struct etcd_call){etcd, etcd->calls, path, json_dumps(request, JSON_COMPACT), line, reply,
			data, .tries = once ? 1 : etcd->endpoint_count};
		etcd->calls = call;
	}
	json_decref(request);
	return call;
}

size_t etcd_call_endpoint(const struct etcd_call *call)
{
	return call->endpoint;
}

void etcd_call_resume(struct etcd *etcd, enum etcd_result result)
{
	for (struct etcd_call *call = etcd->calls; call; call = call->next)
		if (call->step == CALL_NEEDS_TOKEN) {
			call->step = result == ETCD_DONE ? CALL_START : CALL_FAILED;
			call->failure = result;
		}
}

static bool deliver(struct etcd *etcd)
{
	for (struct etcd_call *call = etcd->calls; call; call = call->next) {
		if (call->line && (call->step == CALL_RUNS || call->step == CALL_ENDED) && deliver_line(call))
			return true;
		if (call->step == CALL_START)
			start(call);
		else if (call->step == CALL_ENDED)
			end(call);
		else if (call->step == CALL_FAILED)
			fail(call, call->failure, false);
		else
			continue;
		return true;
	}
	return false;
}

bool etcd_call_deliver(struct etcd *etcd)
{
	struct etcd_call *call;

	/* Lines first: nothing is received while there are some, so a flood of them does not fill the memory. */
	if (deliver(etcd))
		return true;
	call = etcd_http_perform(etcd);
	if (call)
		call->step = CALL_ENDED;
	return deliver(etcd);
}
