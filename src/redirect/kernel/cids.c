/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/kernel/cids.h"

#include <string.h>

#include <bpf/bpf.h>

/* Multiplies two polynomials over GF(2) modulo x^8 + x^4 + x^3 + x + 1. */
static uint8_t multiply(uint8_t one, uint8_t other)
{
	uint8_t product = 0;

	for (int bit = 0; bit < 8; bit++) {
		if (other >> bit & 1)
			product ^= one;
		one = (uint8_t)(one << 1 ^ (one >> 7 ? 0x1b : 0));
	}
	return product;
}

static uint8_t rotate8(uint8_t byte, unsigned bits)
{
	return (uint8_t)(byte << bits | byte >> (8 - bits));
}

/* SubBytes: the inverse in the field, and an affine map (FIPS 197, 5.1.1). */
static void fill_box(uint8_t box[256])
{
	for (unsigned value = 0; value < 256; value++) {
		uint8_t inverse = 0;

		for (unsigned other = 1; other < 256 && !inverse; other++)
			if (multiply((uint8_t)value, (uint8_t)other) == 1)
				inverse = (uint8_t)other;
		box[value] = (uint8_t)(inverse ^ rotate8(inverse, 1) ^ rotate8(inverse, 2) ^ rotate8(inverse, 3) ^
				       rotate8(inverse, 4) ^ 0x63);
	}
}

static uint32_t rotate32(uint32_t word, unsigned bits)
{
	return bits ? word << bits | word >> (32 - bits) : word;
}

/* A column of MixColumns for the byte of row 0: its products, from the least significant byte on. */
static uint32_t column(uint8_t byte, const uint8_t factors[4])
{
	uint32_t word = 0;

	for (unsigned row = 0; row < 4; row++)
		word |= (uint32_t)multiply(byte, factors[row]) << 8 * row;
	return word;
}

static void fill_tables(struct redirect_quic_aes *aes, const uint8_t factors[4])
{
	for (unsigned value = 0; value < 256; value++)
		for (unsigned row = 0; row < 4; row++)
			aes->tables[value][row] = rotate32(column(aes->box[value], factors), 8 * row);
}

static uint32_t substitute(const uint8_t box[256], uint32_t word)
{
	uint32_t result = 0;

	for (unsigned row = 0; row < 4; row++)
		result |= (uint32_t)box[word >> 8 * row & 255] << 8 * row;
	return result;
}

/* FIPS 197, 5.2 */
static void expand_key(const uint8_t box[256], const uint8_t *key, uint32_t keys[REDIRECT_QUIC_ROUND_KEYS])
{
	uint8_t round = 1;

	memcpy(keys, key, QUIC_KEY_SIZE);
	for (unsigned i = 4; i < REDIRECT_QUIC_ROUND_KEYS; i++) {
		uint32_t word = keys[i - 1];

		if (i % 4 == 0) {
			word = substitute(box, rotate32(word, 24)) ^ round;
			round = multiply(round, 2);
		}
		keys[i] = keys[i - 4] ^ word;
	}
}

/* Makes the keys those of the equivalent inverse cipher (FIPS 197, 5.3.5). */
static void invert_key(const struct redirect_quic *data, uint32_t keys[REDIRECT_QUIC_ROUND_KEYS])
{
	const uint8_t *box = data->encrypt.box;
	uint32_t forward[REDIRECT_QUIC_ROUND_KEYS];

	memcpy(forward, keys, sizeof(forward));
	for (unsigned i = 0; i < REDIRECT_QUIC_ROUND_KEYS; i++) {
		uint32_t word = forward[REDIRECT_QUIC_ROUND_KEYS - 4 - i / 4 * 4 + i % 4];

		keys[i] = word;
		if (i < 4 || i >= REDIRECT_QUIC_ROUND_KEYS - 4)
			continue;
		keys[i] = 0;
		for (unsigned row = 0; row < 4; row++)
			keys[i] ^= data->decrypt.tables[box[word >> 8 * row & 255]][row];
	}
	explicit_bzero(forward, sizeof(forward));
}

/* Sets the first `size` bytes of a mask. */
static void fill_mask(void *mask, size_t size)
{
	memset(mask, 0xff, size);
}

static void fill_config(const struct quic_config *conf, struct redirect_quic *data)
{
	struct redirect_quic_config *config = &data->configs[conf->id];
	uint8_t size = (uint8_t)(conf->server_id_length + conf->nonce_length), half = (uint8_t)((size + 1) / 2);
	uint8_t *left = (uint8_t *)config->halves[0], *right = (uint8_t *)config->halves[1];

	config->size = size;
	fill_mask(config->server_id, conf->server_id_length);
	fill_mask(left, half);
	fill_mask(right, half);
	if (size % 2) { /* the byte in the middle has 4 bits of each half */
		left[half - 1] = 0xf0;
		right[0] = 0x0f;
	}
	if (!conf->keyed)
		return;
	expand_key(data->encrypt.box, conf->key, config->keys);
	if (size == 16)
		invert_key(data, config->keys);
	config->passes = size == 16 ? 1 : conf->server_id_length > conf->nonce_length ? 4 : 3;
}

void cids_fill(const struct redirect_quic_conf *conf, struct redirect_quic *data)
{
	static const uint8_t mix[4] = {2, 1, 1, 3}, unmix[4] = {14, 9, 13, 11};

	*data = (struct redirect_quic){.is_used = conf->count != 0};
	memcpy(data->ports, conf->ports, sizeof(data->ports));
	fill_box(data->encrypt.box);
	for (unsigned value = 0; value < 256; value++)
		data->decrypt.box[data->encrypt.box[value]] = (uint8_t)value;
	fill_tables(&data->encrypt, mix);
	fill_tables(&data->decrypt, unmix);
	for (unsigned i = 0; i < conf->count; i++)
		fill_config(&conf->configs[i], data);
}

int cids_put_servers(const struct redirect_quic_conf *conf, int servers)
{
	int error = 0;

	for (size_t i = 0; i < conf->server_count && !error; i++) {
		const struct redirect_quic_name *name = &conf->servers[i];
		union redirect_quic_server server = {.config = name->config};
		struct redirect_quic_address address = {0};

		memcpy(server.id, name->server_id.bytes, sizeof(server.id));
		if (!name->is_self) {
			address.family = name->addr.family == NETADDR_V4 ? 4 : 6;
			memcpy(address.words, name->addr.bytes, sizeof(address.words));
		}
		error = bpf_map_update_elem(servers, &server, &address, BPF_ANY);
	}
	return error;
}
