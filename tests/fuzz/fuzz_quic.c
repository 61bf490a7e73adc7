/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the CIDs of any datagram, and decodes the destination CID with any configuration. Nothing reads outside the
 * datagram, all forms of the decoder agree, and encoding what was decoded gives the CID again. seeds/quic has datagrams
 * with the draft's CIDs. The first 19 bytes of an input are the configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "quic/quic_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void try_codec(const struct quic_config *config, const struct quic_dcid *dcid)
{
	uint8_t slots[1][QUIC_SLOT] = {{0}}, server_id[16] = {0}, nonce[QUIC_MAX_NONCE], cid[QUIC_MAX_CID];
	uint32_t size = quic_cid_size(config);
	struct quic_codec *codec = quic_codec_create(config);

	require(codec);
	quic_decode(codec, dcid->bytes, server_id, nonce);
	quic_encode(codec, dcid->bytes[0], server_id, nonce, cid);
	require(cid[0] == (config->id << 5 | (dcid->bytes[0] & 0x1f)) && !memcmp(cid + 1, dcid->bytes + 1, size - 1));
	memcpy(slots[0], dcid->bytes, dcid->size < QUIC_SLOT ? dcid->size : QUIC_SLOT);
	quic_decode_many(codec, slots, 1);
	require(!memcmp(slots[0], server_id, sizeof(server_id)));
	quic_codec_free(codec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct quic_config config;
	struct quic_dcid dcid, scid;
	uint8_t *payload;
	uint32_t left;

	if (size < 3 + QUIC_KEY_SIZE)
		return 0;
	config = (struct quic_config){data[0] & 0x7f, data[1], data[2], data[0] & 0x80, {0}};
	memcpy(config.key, data + 3, QUIC_KEY_SIZE);
	left = (uint32_t)size - 3 - QUIC_KEY_SIZE;
	payload = malloc(left); /* exactly this size, so that ASan detects reads beyond it */
	if (left)
		memcpy(payload, data + 3 + QUIC_KEY_SIZE, left);
	if (quic_find_quoted_scid(payload, left, &scid))
		require(scid.size && scid.bytes > payload && scid.bytes + scid.size <= payload + left);
	if (quic_find_dcid(payload, left, &dcid)) {
		require(dcid.size && dcid.bytes > payload && dcid.bytes + dcid.size <= payload + left);
		if (!quic_config_fault(&config) && dcid.size >= quic_cid_size(&config))
			try_codec(&config, &dcid);
	}
	free(payload);
	return 0;
}
