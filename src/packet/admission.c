/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/admission.h"

#include "common/net.h"

bool admission_accepts_tagged(const struct admission *admission)
{
	uint64_t any = admission->vlans[0] & ~1ull; /* bit 0 stands for untagged frames */

	for (unsigned i = 1; i < ADMISSION_VLANS / 64; i++)
		any |= admission->vlans[i];
	return !admission->check_vlans || any;
}

/* Every id of a frame must be accepted. A tag with id 0 has only a priority, so it counts as no tag. */
static bool accepts_vlans(const struct admission *admission, struct span at)
{
	const uint8_t *header = span_take(&at, NET_ETHERNET_SIZE);
	uint16_t type = load_be16(header + 12);
	bool tagged = false, accepted = true;

	for (int tags = 0; tags < NET_MAX_TAGS && net_is_tag(type); tags++) {
		const uint8_t *tag = span_take(&at, NET_TAG_SIZE);
		uint16_t id;

		if (!tag)
			return true; /* the parser refuses the frame */
		id = load_be16(tag) & (ADMISSION_VLANS - 1);
		tagged |= id != 0;
		accepted &= id == 0 || admission_accepts_vlan(admission, id);
		type = load_be16(tag + 2);
	}
	return tagged ? accepted : admission_accepts_vlan(admission, 0);
}

enum verdict admission_check(const struct admission *admission, uint64_t port_mac, const uint8_t *frame, uint32_t readable)
{
	bool group = false;

	if (readable < NET_ETHERNET_SIZE)
		return VERDICT_FORWARDED;
	if (admission->accept != ADMISSION_EVERY_FRAME) {
		uint64_t mac = admission_mac(frame);

		group = admission_mac_is_group(mac);
		if (!group && !admission_accepts_mac(admission, port_mac, mac))
			return VERDICT_DROP_NOT_FOR_US;
	}
	if (admission->check_vlans && !accepts_vlans(admission, span_of(frame, readable)))
		return VERDICT_DROP_VLAN;
	return group ? VERDICT_EXCEPTION : VERDICT_FORWARDED;
}
