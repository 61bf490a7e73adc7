/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "common/array.h"

static struct redirect_prefix key_of(enum redirect_list list, const struct netprefix *prefix)
{
	struct redirect_prefix key = {.length = REDIRECT_PREFIX_BITS(prefix->length), .list = list};

	if (prefix->addr.family == NETADDR_V4)
		key.list |= REDIRECT_IPV4;
	memcpy(key.address, prefix->addr.bytes, sizeof(key.address));
	return key;
}

static struct netprefix prefix_of(const struct redirect_prefix *key)
{
	return (struct netprefix){
		.addr = netaddr_from_bytes(key->list & REDIRECT_IPV4 ? NETADDR_V4 : NETADDR_V6, key->address),
		.length = (uint8_t)(key->length - REDIRECT_PREFIX_BITS(0)),
	};
}

static enum redirect_list list_of(const struct redirect_prefix *key)
{
	return key->list & ~(uint32_t)REDIRECT_IPV4;
}

static int put(const struct lists *lists, const struct redirect_prefix *key, uint32_t value)
{
	return bpf_map_update_elem(lists->prefixes, key, &value, BPF_ANY);
}

int lists_put_any(const struct lists *lists, enum redirect_list list)
{
	const struct netprefix ipv4 = {.addr.family = NETADDR_V4}, other = {.addr.family = NETADDR_V6};
	struct redirect_prefix key = key_of(list, &ipv4);
	int error = put(lists, &key, 0);

	key = key_of(list, &other);
	return error ? error : put(lists, &key, 0);
}

static int put_all(const struct lists *lists, enum redirect_list list, const struct redirect_prefixes *prefixes)
{
	int error = prefixes->any ? lists_put_any(lists, list) : 0;

	for (size_t i = 0; i < prefixes->count && !error; i++) {
		struct redirect_prefix key = key_of(list, &prefixes->items[i]);

		error = put(lists, &key, 0);
	}
	return error;
}

int lists_put_conf(const struct lists *lists, const struct redirect_conf *conf)
{
	int error = put_all(lists, REDIRECT_LIST_FROM, &conf->allow_from);

	if (!error)
		error = put_all(lists, REDIRECT_LIST_TO, &conf->allow_to);
	if (!error)
		error = put_all(lists, REDIRECT_LIST_NEXT_HOP, &conf->next_hops);
	return error;
}

/* Reads all keys of the map, in no order. Returns 0 or -errno. The caller frees *keys. */
static int read_keys(const struct lists *lists, struct redirect_prefix **keys, size_t *count)
{
	struct redirect_prefix *last = NULL, next;

	*keys = NULL;
	*count = 0;
	while (bpf_map_get_next_key(lists->prefixes, last, &next) == 0) {
		last = array_append(keys, count, sizeof(next));
		if (!last)
			return -ENOMEM;
		*last = next;
	}
	return errno == ENOENT ? 0 : -errno;
}

/* Removes the addresses of the host whose value is not `mark`. Sets *removed if there are any. */
static int remove_unmarked(const struct lists *lists, uint32_t mark, bool *removed)
{
	struct redirect_prefix *keys;
	size_t count;
	int error = read_keys(lists, &keys, &count);

	for (size_t i = 0; i < count && !error; i++) {
		uint32_t value;

		if (list_of(&keys[i]) != REDIRECT_LIST_MAC && list_of(&keys[i]) != REDIRECT_LIST_LOCAL)
			continue;
		error = bpf_map_lookup_elem(lists->prefixes, &keys[i], &value);
		if (error || value == mark)
			continue;
		error = bpf_map_delete_elem(lists->prefixes, &keys[i]);
		*removed = true;
	}
	free(keys);
	return error;
}

static int put_addresses(const struct lists *lists, const struct host *host, uint32_t mark)
{
	int error = 0;

	for (size_t i = 0; i < host->mac_count && !error; i++) {
		struct redirect_prefix key = {
			.length = REDIRECT_PREFIX_BITS(8 * sizeof(host->macs[i])), .list = REDIRECT_LIST_MAC};

		memcpy(key.address, host->macs[i].bytes, sizeof(host->macs[i].bytes));
		error = put(lists, &key, mark);
	}
	for (size_t i = 0; i < host->local_count && !error; i++) {
		struct redirect_prefix key = key_of(REDIRECT_LIST_LOCAL, &host->local[i]);

		error = put(lists, &key, mark);
	}
	return error;
}

int lists_put_host(const struct lists *lists, const struct host *host)
{
	uint32_t zero = 0, generation;
	bool removed = false;
	int error = bpf_map_lookup_elem(lists->generation, &zero, &generation);

	generation++;
	if (!error)
		error = put_addresses(lists, host, generation);
	if (!error)
		error = remove_unmarked(lists, generation, &removed);
	/* Otherwise the next call would mark with the same number. */
	if (!error || removed)
		bpf_map_update_elem(lists->generation, &zero, &generation, BPF_ANY);
	return error;
}

bool lists_has_any(const struct lists *lists, enum redirect_list list)
{
	const struct netprefix ipv4 = {.addr.family = NETADDR_V4}, ipv6 = {.addr.family = NETADDR_V6};
	const struct redirect_prefix keys[] = {key_of(list, &ipv4), key_of(list, &ipv6)};
	uint32_t value;

	return bpf_map_lookup_elem(lists->prefixes, &keys[0], &value) == 0 ||
	       bpf_map_lookup_elem(lists->prefixes, &keys[1], &value) == 0;
}

int lists_read(const struct lists *lists, enum redirect_list list, struct redirect_prefixes *prefixes)
{
	struct redirect_prefix *keys;
	size_t count;
	int error = read_keys(lists, &keys, &count);

	*prefixes = (struct redirect_prefixes){.items = error ? NULL : calloc(count + 1, sizeof(*prefixes->items))};
	for (size_t i = 0; i < count && prefixes->items; i++) {
		if (list_of(&keys[i]) != list)
			continue;
		prefixes->items[prefixes->count++] = prefix_of(&keys[i]);
		prefixes->any |= keys[i].length == REDIRECT_PREFIX_BITS(0);
	}
	free(keys);
	return error || prefixes->items ? error : -ENOMEM;
}
