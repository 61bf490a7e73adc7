/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of etcd over its v3 JSON gateway (HTTP or HTTPS, by libcurl). It speaks to one endpoint at a time, and uses
 * the next one when that one fails. Everything happens in etcd_run(); no callback runs outside of it or of
 * etcd_close(). One thread. Keys are texts that are not empty; a value is text in UTF-8 without NUL, of at most
 * ETCD_VALUE_MAX bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/faults.h"
#include "conf/conf_key.h"

#define ETCD_VALUE_MAX ((size_t)8 << 20) /* bytes; etcd itself takes 1.5 MB unless told otherwise */
#define ETCD_ERROR_MAX 512

/* How to reach etcd: part of fleet.conf. All texts are owned; etcd_conf_free(). */
struct etcd_conf {
	char **endpoints; /* URLs; NULL at the end */
	uint64_t first; /* modulo their number: the index of the one to begin with */
	char *ca_file, *cert_file, *key_file; /* NULL: none */
	char *user, *password_file; /* NULL: none */
	unsigned timeout_ms; /* of a request */
};
extern const struct conf_key etcd_conf_keys[];
/* For `read` of a key whose group has these keys: also checks that they fit together. *field is a struct etcd_conf. A
 * thorough check warns of endpoints beyond loopback without encryption. */
void etcd_conf_read(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);
void etcd_conf_free(struct etcd_conf *conf);

struct etcd;

/* Returns NULL after an error in faults: a file cannot be read, libcurl cannot work. Does not connect. `conf` is
 * borrowed. */
struct etcd *etcd_open(const struct etcd_conf *conf, struct faults *faults);
void etcd_close(struct etcd *etcd); /* ends all requests without a callback; close mirrors, end leases before */

/*
 * Runs transfers and callbacks, and waits for at most timeout_ms, or until `fd` (-1: none) is readable. Returns after
 * the first callback or wake-up, so that the caller can look at its clock.
 */
void etcd_run(struct etcd *etcd, int fd, int timeout_ms);

/* The state of the connection, for status pages and metrics. */
struct etcd_state {
	bool connected; /* the last request or the open watch had a reply */
	uint64_t since_ms; /* of `connected`, clock_now_ms() */
	const char *endpoint;
	char error[ETCD_ERROR_MAX]; /* of the last failure: names the endpoint, and says what to do; "": none */
	/* From the header of the newest reply; 0: none yet. */
	uint64_t cluster, revision;
};
const struct etcd_state *etcd_state(const struct etcd *etcd);

/* One request. */
enum etcd_result {
	ETCD_DONE,
	ETCD_UNREACHABLE, /* no endpoint replied in time; it may have been carried out or not */
	ETCD_DENIED, /* authentication or permission */
	ETCD_REFUSED, /* etcd replied with another error: etcd_state()->error */
	ETCD_TOO_LARGE, /* every endpoint has more to tell than 32 MB */
};
/* body: the reply, borrowed; NULL unless ETCD_DONE. */
typedef void etcd_reply(void *data, enum etcd_result result, const json_t *body);

/* Sends `request`, whose reference it takes, to a path such as "/v3/kv/range". Tries each endpoint once, but a
 * transaction only until it may have arrived. */
void etcd_request(struct etcd *etcd, const char *path, json_t *request, etcd_reply *reply, void *data);
/* The same, and runs until the reply has come, other callbacks included. Not for use in a callback. Returns the result;
 * *body is a new reference (NULL: not done). */
enum etcd_result etcd_ask(struct etcd *etcd, const char *path, json_t *request, json_t **body);

/* Requests. etcd_range(): of one key, or of all keys that begin with it; at most `limit`, 0: all. */
#define ETCD_RANGE "/v3/kv/range"
#define ETCD_TXN   "/v3/kv/txn"
json_t *etcd_range(const char *key, bool prefix, unsigned limit);
/* A transaction is made of compares and operations: etcd_txn(json_array of compares, json_array of operations). All
 * references are taken. */
json_t *etcd_txn(json_t *compares, json_t *operations);
json_t *etcd_compare_revision(const char *key, uint64_t mod_revision); /* 0: the key does not exist */
json_t *etcd_put(const char *key, const char *value, uint64_t lease); /* lease 0: none */
json_t *etcd_delete(const char *key);
bool etcd_txn_succeeded(const json_t *body);

/* A key and its value, decoded from a reply of a range or an event of a watch. */
struct etcd_kv {
	/* Owned. NULL: `fault` says what is wrong with it; or the key was deleted, and there is no value. */
	char *key, *value;
	const char *fault; /* NULL: none */
	uint64_t mod_revision, lease;
};
/* Decodes the index-th pair of a range's reply. Returns false behind the last one. etcd_kv_free(). */
bool etcd_range_kv(const json_t *body, size_t index, struct etcd_kv *kv);
void etcd_kv_free(struct etcd_kv *kv);

/*
 * A mirror of one key, or of all keys with a prefix: reads them, then watches them, and reads again after a lost
 * connection, a compaction, or a watch that says nothing about a change. `changed` is called for each key whose
 * mod_revision is new, and with value NULL for each that is gone; `ready` is called after each complete read. More
 * than `max` keys: those beyond are ignored, and etcd_mirror_truncated() is true. Neither may close the mirror.
 */
struct etcd_mirror;
struct etcd_mirror_calls {
	void (*changed)(void *data, const struct etcd_kv *kv);
	void (*ready)(void *data);
};
struct etcd_mirror *etcd_mirror_open(
	struct etcd *etcd, const char *key, bool prefix, size_t max, const struct etcd_mirror_calls *calls, void *data);
void etcd_mirror_close(struct etcd_mirror *mirror);
bool etcd_mirror_is_current(const struct etcd_mirror *mirror); /* the watch is open and alive */
bool etcd_mirror_truncated(const struct etcd_mirror *mirror);
const char *etcd_mirror_error(const struct etcd_mirror *mirror); /* why etcd does not let it get current; "": it does */

/*
 * A lease that is granted, kept alive at a third of its time, and granted anew when it was lost: then the caller puts
 * its keys again. etcd_lease_end() revokes it, and runs until that is
 * done, at most timeout_ms.
 */
struct etcd_lease;
struct etcd_lease *etcd_lease_open(struct etcd *etcd, unsigned ttl_s);
uint64_t etcd_lease_id(const struct etcd_lease *lease); /* 0: none is known to be alive */
void etcd_lease_end(struct etcd_lease *lease);
