/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/tap/tap.h"

#include <string.h>

#include <rte_cycles.h>

#include "packet/steer.h"
#include "worker/counters.h"
#include "worker/transmit.h"

_Static_assert(CAPTURE_RETURNED == OUTCOME_RETURNED, "the messages have the number of the outcome");
_Static_assert(VERDICT_COUNT < 32, "a set of verdicts fits into 32 bits");
_Static_assert(
	sizeof(struct capture_record) + 2 * CAPTURE_MAX_SNAPLEN < TAP_RING_SIZE / 2, "a record fits into the ring");

#define BIT(verdict) (1u << (verdict))

/* Verdicts of packets whose frame the pipeline may have overwritten. */
#define OVERWRITTEN                                                                             \
	(BIT(VERDICT_FORWARDED) | BIT(VERDICT_ANSWERED_TOO_BIG) | BIT(VERDICT_DROP_NO_BUFFER) | \
		BIT(VERDICT_DROP_TX_FULL))

/* Verdicts that a packet of VERDICT_EXCEPTION gets when it cannot be passed on. */
#define LATER_EXCEPTIONS (BIT(VERDICT_DROP_EXCEPTION_LIMITED) | BIT(VERDICT_DROP_EXCEPTION_FULL))

/* Verdicts of packets that a table steers. */
#define STEERED                                                                               \
	(BIT(VERDICT_FORWARDED) | BIT(VERDICT_ANSWERED_TOO_BIG) | BIT(VERDICT_DROP_TOO_BIG) | \
		BIT(VERDICT_DROP_NO_NEXT_HOP) | BIT(VERDICT_DROP_NO_BUFFER) | BIT(VERDICT_DROP_TX_FULL))

enum {
	SAVED_MS = 20, /* a tap may save its time for so long */
	STEP_MAX_US = 100, /* a step that took longer was interrupted by the kernel */
};

size_t tap_memory(const struct tap_choice *choice)
{
	return TAP_RING_SIZE + (size_t)BURST_MAX * 2 * choice->snaplen;
}

void tap_init(struct tap *tap, const struct tap_choice *choice, uint8_t *memory, uint64_t hz)
{
	tap->choice = choice;
	tap->late = !(choice->verdicts & OVERWRITTEN);
	tap->ring = (struct tap_ring){.memory = memory, .size = TAP_RING_SIZE};
	tap->copies = memory + TAP_RING_SIZE;
	tap->most = (int64_t)(hz / 1000 * SAVED_MS);
	tap->allowance = tap->most;
	tap->last = rte_rdtsc();
}

/* Starts a step. Returns false if the tap has used up its time. */
static bool step_begin(struct tap *tap)
{
	uint64_t now = rte_rdtsc();

	tap->allowance = RTE_MIN(tap->allowance + (int64_t)((now - tap->last) / TAP_SHARE), tap->most);
	tap->last = tap->began = now;
	return tap->allowance > 0;
}

static void step_end(struct tap *tap)
{
	uint64_t longest = (uint64_t)tap->most / (SAVED_MS * 1000 / STEP_MAX_US);

	tap->allowance -= (int64_t)RTE_MIN(rte_rdtsc() - tap->began, longest);
}

static bool tap_passes(const struct tap_choice *choice, const uint8_t *frame, uint32_t size, uint32_t readable)
{
	struct bpf_program program = {.bf_insns = (struct bpf_insn *)choice->program};
	struct pcap_pkthdr header = {.caplen = readable, .len = size};

	return !choice->program || pcap_offline_filter(&program, &header, frame);
}

/* Adds the packet of a lane, if the filter chooses it. */
static void tap_choose(struct tap *tap, const struct burst *burst, uint32_t lane, const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = burst->frame[lane];
	uint32_t readable = burst->readable[lane], size = burst->size[lane], snaplen = tap->choice->snaplen;
	struct tap_packet *packet = &tap->packets[tap->count];

	if (!tap_passes(tap->choice, frame, size, readable))
		return;
	packet->mbuf = mbuf;
	packet->wanted = true;
	packet->lane = (uint8_t)lane;
	packet->has_flow = flow_parse(frame, readable, size, &packet->flow) == VERDICT_FORWARDED;
	packet->copy = tap->copies + (size_t)tap->count * 2 * snaplen;
	packet->record = (struct capture_record){
		.in_port = mbuf->port,
		.out_port = CAPTURE_NO_PORT,
		.time = tap->began,
		.in_size = size,
		.in_captured = RTE_MIN(readable, snaplen),
	};
	memcpy(packet->copy, frame, packet->record.in_captured);
	tap->count++;
}

/* Chooses among the packets of the lanes. */
static void choose_all(struct tap *tap, const struct burst *burst, uint64_t lanes, struct rte_mbuf *const *mbufs)
{
	if (!lanes)
		return;
	if (step_begin(tap)) {
		BURST_EACH (lane, lanes)
			tap_choose(tap, burst, (uint32_t)lane, mbufs[lane]);
	} else {
		counters_add(&tap->counters.skipped, (uint64_t)__builtin_popcountll(lanes));
	}
	step_end(tap);
}

void tap_before(struct tap *tap, const struct burst *burst, struct rte_mbuf *const *mbufs,
	const struct live_table *live, uint16_t out_port)
{
	tap->live = live;
	tap->out_port = out_port;
	if (!tap->late)
		choose_all(tap, burst, burst_lanes(burst), mbufs);
}

void tap_between(struct tap *tap, const struct burst *burst, struct rte_mbuf *const *mbufs)
{
	uint32_t verdicts = tap->choice->verdicts;
	uint64_t lanes = 0;

	if (!tap->late)
		return;
	if (verdicts & LATER_EXCEPTIONS)
		verdicts |= BIT(VERDICT_EXCEPTION);
	for (uint32_t lane = 0; lane < burst->count; lane++)
		lanes |= (uint64_t)(verdicts >> burst->verdict[lane] & 1) << lane;
	choose_all(tap, burst, lanes, mbufs);
}

/* Notes where the packet goes. Returns false if it belongs to another table than the wanted one. */
static bool note_table(const struct tap *tap, struct tap_packet *packet)
{
	struct capture_record *record = &packet->record;
	struct steer_result result = {.verdict = VERDICT_DROP_UNMATCHED};

	record->generation = tap->live->generation;
	if (packet->has_flow && STEERED & BIT(record->verdict))
		result = steer_flow(&packet->flow, tap->live->routes, tap->steering);
	if (result.verdict != VERDICT_FORWARDED)
		return tap->choice->slot < 0;
	record->has_table = true;
	record->table = result.table;
	record->row = result.row;
	record->quic = result.quic;
	record->hop_count = result.hop_count;
	for (unsigned i = 0; i < result.hop_count; i++)
		record->hops[i] = routes_hop(tap->live->routes, result.table, result.hops[i]);
	return tap->choice->slot < 0 || tap->choice->slot == tap->live->slot[result.table];
}

static void copy_out(const struct tap *tap, struct tap_packet *packet, const struct burst *burst)
{
	struct capture_record *record = &packet->record;
	const uint8_t *out = burst->out[packet->lane];
	uint32_t there = (uint32_t)(burst->frame[packet->lane] + burst->readable[packet->lane] - out);

	record->out_port = tap->out_port;
	record->out_size = burst->out_size[packet->lane];
	there = RTE_MIN(there, record->out_size);
	record->out_captured = RTE_MIN(there, tap->choice->snaplen);
	memcpy(packet->copy + tap->choice->snaplen, out, record->out_captured);
}

void tap_ready(struct tap *tap, const struct burst *burst)
{
	if (!tap->count)
		return;
	step_begin(tap);
	for (uint16_t i = 0; i < tap->count; i++) {
		struct tap_packet *packet = &tap->packets[i];
		uint8_t verdict = packet->record.verdict = burst->verdict[packet->lane];
		bool sent = verdict == VERDICT_FORWARDED || verdict == VERDICT_ANSWERED_TOO_BIG;

		packet->wanted = note_table(tap, packet);
		if (packet->wanted && sent)
			copy_out(tap, packet, burst);
	}
	step_end(tap);
}

static void write_record(struct tap *tap, const struct capture_record *head, const uint8_t *in, const uint8_t *out)
{
	uint32_t data = head->in_captured + head->out_captured;
	uint32_t size = RTE_ALIGN_CEIL((uint32_t)sizeof(*head) + data, 8u);
	struct capture_record *record = (struct capture_record *)tap_ring_reserve(&tap->ring, size);

	counters_add(&tap->counters.matched, 1);
	if (!record) {
		counters_add(&tap->counters.lost, 1);
		return;
	}
	memcpy(record, head, sizeof(*head));
	record->size = size;
	record->lcore = tap->lcore;
	record->number = (uint64_t)tap->worker << 48 | ++tap->number;
	record->counters = tap->counters;
	memcpy(record->data, in, head->in_captured);
	memcpy(record->data + head->in_captured, out, head->out_captured);
	tap_ring_commit(&tap->ring, size);
}

void tap_after(struct tap *tap)
{
	tap->live = NULL;
	if (!tap->count)
		return;
	step_begin(tap);
	for (uint16_t i = 0; i < tap->count; i++) {
		const struct tap_packet *packet = &tap->packets[i];

		if (packet->wanted && tap->choice->verdicts & BIT(packet->record.verdict))
			write_record(tap, &packet->record, packet->copy, packet->copy + tap->choice->snaplen);
	}
	tap->count = 0;
	step_end(tap);
}

/* Captures an mbuf that was not in a burst of this worker. */
static void tap_capture(struct tap *tap, const struct rte_mbuf *mbuf, uint8_t verdict, uint16_t in_port, uint16_t out_port)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t captured = RTE_MIN((uint32_t)mbuf->data_len, tap->choice->snaplen);
	bool in = in_port != CAPTURE_NO_PORT;
	struct capture_record record = {
		.verdict = verdict,
		.time = tap->began,
		.in_port = in_port,
		.out_port = out_port,
		.in_size = in ? mbuf->pkt_len : 0,
		.in_captured = in ? captured : 0,
		.out_size = in ? 0 : mbuf->pkt_len,
		.out_captured = in ? 0 : captured,
	};

	write_record(tap, &record, frame, frame);
}

void tap_mark(const struct tap *tap, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t next = 0; /* of packets[], which are in the same order */

	for (uint16_t i = 0; i < tap->count; i++)
		for (uint16_t at = next; tap->packets[i].wanted && at < count; at++)
			if (mbufs[at] == tap->packets[i].mbuf) {
				mbufs[at]->hash.usr |= TAP_MARK;
				next = at + 1;
				break;
			}
}

void tap_drop(struct tap *tap, const struct rte_mbuf *mbuf, uint8_t verdict, uint16_t out_port)
{
	bool exception = verdict == VERDICT_DROP_EXCEPTION_FULL;

	for (uint16_t i = 0; i < tap->count; i++)
		if (tap->packets[i].mbuf == mbuf) {
			tap->packets[i].record.verdict = verdict;
			return;
		}
	if (tap->live || !(mbuf->hash.usr & TAP_MARK) || !(tap->choice->verdicts & BIT(verdict)))
		return;
	if (step_begin(tap))
		tap_capture(tap, mbuf, verdict, exception ? mbuf->port : CAPTURE_NO_PORT,
			exception ? CAPTURE_NO_PORT : out_port);
	else
		counters_add(&tap->counters.skipped, 1);
	step_end(tap);
}

void tap_single(struct tap *tap, const struct rte_mbuf *mbuf, uint8_t verdict, uint16_t in_port, uint16_t out_port)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (!(tap->choice->verdicts & BIT(verdict)) || tap->choice->slot >= 0)
		return;
	if (!step_begin(tap))
		counters_add(&tap->counters.skipped, 1);
	else if (tap_passes(tap->choice, frame, mbuf->pkt_len, mbuf->data_len))
		tap_capture(tap, mbuf, verdict, in_port, out_port);
	step_end(tap);
}
