/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/icmp/too_big_limit.h"

#include <string.h>

#include "common/netaddr.h"

void too_big_limit_init(struct too_big_limit *limit, const uint8_t key[SIPHASH_KEY_SIZE], uint64_t now)
{
	memcpy(limit->key, key, sizeof(limit->key));
	limit->now = now;
	limit->prefix_interval = 1;
	limit->total = (struct token_bucket){.tokens = TOO_BIG_LIMIT_PER_SECOND, .filled_at = now};
	for (unsigned i = 0; i < TOO_BIG_LIMIT_BUCKETS; i++)
		limit->prefixes[i] = (struct token_bucket){.tokens = TOO_BIG_LIMIT_PREFIX_BURST, .filled_at = now};
}

static struct token_bucket *bucket_of(struct too_big_limit *limit, uint8_t family, const uint8_t *source)
{
	uint8_t prefix[8] = {family};

	memcpy(prefix + 1, source, family == NETADDR_V4 ? 3 : 7);
	return &limit->prefixes[siphash(limit->key, prefix, sizeof(prefix)) % TOO_BIG_LIMIT_BUCKETS];
}

/*
 * A prefix pays even if the total then refuses the reply. So prefixes that keep sending stay below half of their burst,
 * and the reserve is left to the others.
 */
bool too_big_limit_take(struct too_big_limit *limit, uint8_t family, const uint8_t *source)
{
	struct token_bucket *bucket = bucket_of(limit, family, source);
	bool quiet;

	token_bucket_refill(bucket, limit->now, limit->prefix_interval, TOO_BIG_LIMIT_PREFIX_BURST);
	quiet = bucket->tokens >= TOO_BIG_LIMIT_PREFIX_BURST / 2;
	if (!token_bucket_take(bucket) || (!quiet && limit->total.tokens <= TOO_BIG_LIMIT_RESERVE))
		return false;
	return token_bucket_take(&limit->total);
}
