/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, and the keys and values of replies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "etcd/etcd_core.h"

/* Each value takes up to 300 bytes of memory, however short its text is. 10 000 keys have 10 000 objects with 6
 * members. */
#define CONTAINERS_MAX 100000
#define COMMAS_MAX     1000000

json_t *etcd_parse(const char *text, size_t size)
{
	size_t containers = 0, commas = 0;
	json_t *body;

	for (size_t i = 0; i < size; i++) {
		containers += text[i] == '{' || text[i] == '[';
		commas += text[i] == ',';
	}
	if (containers > CONTAINERS_MAX || commas > COMMAS_MAX)
		return NULL;
	body = json_loadb(text, size, 0, NULL);
	if (json_is_object(body))
		return body;
	json_decref(body);
	return NULL;
}

/* Numbers of 64 bits are texts in the gateway's JSON. */
static json_t *number_text(uint64_t number)
{
	return json_sprintf("%" PRIu64, number);
}

static json_t *base64_text(const void *bytes, size_t size)
{
	unsigned char *text = malloc((size + 2) / 3 * 4 + 1);
	json_t *json = text ? json_stringn((char *)text, (size_t)EVP_EncodeBlock(text, bytes, (int)size)) : NULL;

	free(text);
	return json;
}

/* Returns malloc'd bytes with a NUL behind them; NULL: out of memory, or the text is not base64. */
static char *base64_decode(const char *text, size_t *size)
{
	size_t length = strlen(text);
	char *bytes = malloc(length / 4 * 3 + 1);
	int decoded = bytes ? EVP_DecodeBlock((unsigned char *)bytes, (const unsigned char *)text, (int)length) : -1;

	if (decoded < 0) {
		free(bytes);
		return NULL;
	}
	for (size_t i = 1; i <= 2 && decoded && i <= length && text[length - i] == '='; i++)
		decoded--; /* it decodes padding to zeros */
	bytes[decoded] = '\0';
	*size = (size_t)decoded;
	return bytes;
}

static json_t *key_text(const char *key)
{
	return base64_text(key, strlen(key));
}

uint64_t etcd_number(const json_t *object, const char *key)
{
	const json_t *member = json_object_get(object, key);
	const char *text = json_string_value(member);
	json_int_t number = json_integer_value(member);

	if (text && *text && strspn(text, "0123456789") == strlen(text))
		return strtoull(text, NULL, 10);
	return number > 0 ? (uint64_t)number : 0;
}

json_t *etcd_kv_keys(const char *key, bool prefix)
{
	size_t size = strlen(key);
	char *end = strdup(key);
	json_t *keys = json_object();

	json_object_set_new(keys, "key", key_text(key));
	/* The end is the key with a larger last byte. UTF-8 has no byte 0xff, so there is one. */
	if (prefix && size && end) {
		end[size - 1]++;
		json_object_set_new(keys, "range_end", base64_text(end, size));
	}
	free(end);
	return keys;
}

json_t *etcd_range(const char *key, bool prefix, unsigned limit)
{
	json_t *range = etcd_kv_keys(key, prefix);

	if (limit)
		json_object_set_new(range, "limit", number_text(limit));
	return range;
}

json_t *etcd_txn(json_t *compares, json_t *operations)
{
	return json_pack("{s:o, s:o}", "compare", compares, "success", operations);
}

json_t *etcd_compare_revision(const char *key, uint64_t mod_revision)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "target", "MOD", "result", "EQUAL", "key", key_text(key),
		"mod_revision", number_text(mod_revision));
}

json_t *etcd_put(const char *key, const char *value, uint64_t lease)
{
	return json_pack("{s:{s:o, s:o, s:o}}", "request_put", "key", key_text(key), "value",
		base64_text(value, strlen(value)), "lease", number_text(lease));
}

json_t *etcd_delete(const char *key)
{
	return json_pack("{s:{s:o}}", "request_delete_range", "key", key_text(key));
}

bool etcd_txn_succeeded(const json_t *body)
{
	return json_is_true(json_object_get(body, "succeeded"));
}

/* Returns true if the bytes are UTF-8 without NUL. */
static bool is_text(const char *bytes, size_t size)
{
	json_t *text = memchr(bytes, '\0', size) ? NULL : json_stringn(bytes, size);

	json_decref(text);
	return text;
}

/* An empty value has no member in JSON. */
static void decode_value(const json_t *pair, struct etcd_kv *kv)
{
	const json_t *value = json_object_get(pair, "value");
	const char *text = value ? json_string_value(value) : "";
	size_t size = 0;

	if (text && json_string_length(value) / 4 * 3 > ETCD_VALUE_MAX + 2) {
		kv->fault = "the value is larger than 8 MB";
		return;
	}
	kv->value = text ? base64_decode(text, &size) : NULL;
	if (kv->value && is_text(kv->value, size))
		return;
	free(kv->value);
	kv->value = NULL;
	kv->fault = "the value is not text in UTF-8";
}

bool etcd_kv_decode(const json_t *pair, bool deleted, struct etcd_kv *kv)
{
	const char *key = json_string_value(json_object_get(pair, "key"));
	size_t size = 0;

	*kv = (struct etcd_kv){.key = key ? base64_decode(key, &size) : NULL,
		.mod_revision = etcd_number(pair, "mod_revision"),
		.lease = etcd_number(pair, "lease")};
	if (!kv->key || !is_text(kv->key, size)) {
		etcd_kv_free(kv);
		kv->fault = "the key is not text in UTF-8";
		return false;
	}
	if (!deleted)
		decode_value(pair, kv);
	return true;
}

bool etcd_range_kv(const json_t *body, size_t index, struct etcd_kv *kv)
{
	const json_t *pair = json_array_get(json_object_get(body, "kvs"), index);

	*kv = (struct etcd_kv){0};
	if (pair)
		etcd_kv_decode(pair, false, kv);
	return pair;
}

void etcd_kv_free(struct etcd_kv *kv)
{
	free(kv->key);
	free(kv->value);
	*kv = (struct etcd_kv){0};
}
