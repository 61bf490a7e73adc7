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

/* SubBytes, and MixColumns except in the last round. A row starts with its byte of a column. */
static void fill_tables(const uint8_t box[256], const uint8_t factors[4], struct redirect_quic_aes *aes)
{
	for (unsigned value = 0; value < 256; value++)
		for (unsigned row = 0; row < 4; row++) {
			aes->last[value][row] = (uint32_t)box[value] << 8 * row;
			for (unsigned i = 0; i < 4; i++)
				aes->tables[value][row] |= (uint32_t)multiply(box[value], factors[i])
							   << 8 * ((row + i) % 4);
		}
}

/* Adds up what the bytes of a word have in the tables. */
static uint32_t look_up(const uint32_t tables[256][4], uint32_t word)
{
	return tables[word & 255][0] ^ tables[word >> 8 & 255][1] ^ tables[word >> 16 & 255][2] ^ tables[word >> 24][3];
}

/* FIPS 197, 5.2 */
static void expand_key(const struct redirect_quic *data, const uint8_t *key, uint32_t keys[REDIRECT_QUIC_ROUND_KEYS])
{
	uint8_t round = 1;

	memcpy(keys, key, QUIC_KEY_SIZE);
	for (unsigned i = 4; i < REDIRECT_QUIC_ROUND_KEYS; i++) {
		uint32_t word = keys[i - 1];

		if (i % 4 == 0) {
			word = look_up(data->encrypt.last, word >> 8 | word << 24) ^ round;
			round = multiply(round, 2);
		}
		keys[i] = keys[i - 4] ^ word;
	}
}

/* Makes the keys those of the equivalent inverse cipher (FIPS 197, 5.3.5). */
static void invert_key(const struct redirect_quic *data, uint32_t keys[REDIRECT_QUIC_ROUND_KEYS])
{
	uint32_t forward[REDIRECT_QUIC_ROUND_KEYS];

	memcpy(forward, keys, sizeof(forward));
	for (unsigned i = 0; i < REDIRECT_QUIC_ROUND_KEYS; i++) {
		keys[i] = forward[REDIRECT_QUIC_ROUND_KEYS - 4 - i / 4 * 4 + i % 4];
		if (i >= 4 && i < REDIRECT_QUIC_ROUND_KEYS - 4) /* SubBytes undoes that of the tables */
			keys[i] = look_up(data->decrypt.tables, look_up(data->encrypt.last, keys[i]));
	}
	explicit_bzero(forward, sizeof(forward));
}

static void fill_config(const struct quic_config *conf, struct redirect_quic *data)
{
	struct redirect_quic_config *config = &data->configs[conf->id];
	uint8_t size = (uint8_t)(conf->server_id_length + conf->nonce_length), half = (uint8_t)((size + 1) / 2);
	uint8_t *left = (uint8_t *)config->halves[0], *right = (uint8_t *)config->halves[1];

	config->size = size;
	memset(config->server_id, 0xff, conf->server_id_length);
	memset(left, 0xff, half);
	memset(right, 0xff, half);
	if (size % 2) { /* the byte in the middle has 4 bits of each half */
		left[half - 1] = 0xf0;
		right[0] = 0x0f;
	}
	if (!conf->keyed)
		return;
	expand_key(data, conf->key, config->keys);
	if (size == 16)
		invert_key(data, config->keys);
	config->passes = size == 16 ? 1 : conf->server_id_length > conf->nonce_length ? 4 : 3;
}

void cids_fill(const struct redirect_quic_conf *conf, struct redirect_quic *data)
{
	static const uint8_t mix[4] = {2, 1, 1, 3}, unmix[4] = {14, 9, 13, 11};
	uint8_t box[256], inverse[256];

	*data = (struct redirect_quic){.is_used = conf->count != 0};
	memcpy(data->ports, conf->ports, sizeof(data->ports));
	fill_box(box);
	for (unsigned value = 0; value < 256; value++)
		inverse[box[value]] = (uint8_t)value;
	fill_tables(box, mix, &data->encrypt);
	fill_tables(inverse, unmix, &data->decrypt);
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
