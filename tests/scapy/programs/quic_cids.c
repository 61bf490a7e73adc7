/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes CIDs for tests/scapy/test_quic_cids.py. Reads batches from standard input, and writes the server ID and the nonce
 * of each CID, without gaps, and what encoding them gives again. Stops with 1 if quic_decode_many() finds another
 * server ID than quic_decode().
 */
#include <stdio.h>
#include <string.h>

#include "quic/quic.h"

#define BATCH QUIC_MAX_DECODE

struct batch {
	uint8_t id, server_id_length, nonce_length, keyed, key[QUIC_KEY_SIZE], cids[BATCH][QUIC_MAX_CID];
};

static int answer(const struct batch *batch)
{
	struct quic_config config = {.id = batch->id,
		.server_id_length = batch->server_id_length,
		.nonce_length = batch->nonce_length,
		.keyed = batch->keyed};
	uint8_t slots[BATCH][QUIC_SLOT] = {{0}};
	struct quic_codec *codec;
	int wrong = 0;

	memcpy(config.key, batch->key, sizeof(config.key));
	codec = quic_config_fault(&config) ? NULL : quic_codec_create(&config);
	if (!codec)
		return 1;
	for (int i = 0; i < BATCH; i++)
		memcpy(slots[i], batch->cids[i], QUIC_MAX_CID);
	quic_decode_many(codec, slots, BATCH);
	for (int i = 0; i < BATCH; i++) {
		uint8_t text[QUIC_MAX_PLAINTEXT] = {0}, cid[QUIC_MAX_CID] = {0};

		quic_decode(codec, batch->cids[i], text, text + config.server_id_length);
		quic_encode(codec, batch->cids[i][0], text, text + config.server_id_length, cid);
		wrong |= memcmp(slots[i], text, config.server_id_length);
		fwrite(text, sizeof(text), 1, stdout);
		fwrite(cid, sizeof(cid), 1, stdout);
	}
	quic_codec_free(codec);
	return wrong != 0;
}

int main(void)
{
	struct batch batch;
	int wrong = 0;

	while (!wrong && fread(&batch, sizeof(batch), 1, stdin) == 1)
		wrong = answer(&batch);
	return wrong;
}
