/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "packet/capture_program.h"

#define RETURN                       \
	{                            \
		.code = 0x06, .k = 1 \
	}

static void assert_fault(const struct capture_instruction *program, uint32_t size, const char *expected)
{
	const char *fault = capture_program_check(program, size);

	assert_non_null(fault);
	assert_string_equal(fault, expected);
}

#define assert_refused(expected, ...)                                                     \
	do {                                                                              \
		const struct capture_instruction program_[] = {__VA_ARGS__};              \
		assert_fault(program_, sizeof(program_) / sizeof(program_[0]), expected); \
	} while (0)

static void test_programs_that_may_not_end_are_refused(void **state)
{
	(void)state;
	assert_refused("it jumps backwards or over its end", {.code = 0x05, .k = UINT32_MAX}, RETURN);
	assert_refused("it jumps backwards or over its end", RETURN, {.code = 0x05, .k = (uint32_t)-2}, RETURN);
	assert_refused("it jumps backwards or over its end", {.code = 0x05, .k = 1}, RETURN);
	assert_refused("it jumps over its end", {.code = 0x15, .jump_true = 1}, RETURN);
	assert_refused("it jumps over its end", {.code = 0x4d, .jump_false = 255}, RETURN);
	assert_refused("it does not end with a return", {.code = 0x00});
	assert_fault(NULL, 0, "it does not end with a return");
}

static void test_programs_that_abort_are_refused(void **state)
{
	(void)state;
	assert_refused("it has an unknown instruction", {.code = 0xffff}, RETURN);
	assert_refused("it has an unknown instruction", {.code = 0x100 | 0x06}, RETURN);
	assert_refused("it has an unknown instruction", {.code = 0xf4}, RETURN);
	assert_refused("it uses memory that it does not have", {.code = 0x60, .k = 16}, RETURN);
	assert_refused("it uses memory that it does not have", {.code = 0x03, .k = UINT32_MAX}, RETURN);
	assert_refused("it divides by zero", {.code = 0x34}, RETURN);
	assert_refused("it divides by zero", {.code = 0x94}, RETURN);
	assert_refused("it shifts by more than 31 bits", {.code = 0x64, .k = 32}, RETURN);
}

/* Returns the fault of the program that libpcap makes of the text. */
static const char *check_text(const char *text)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 16384);
	struct capture_instruction program[CAPTURE_MAX_PROGRAM];
	struct bpf_program compiled;
	uint32_t size;

	assert_int_equal(pcap_compile(dead, &compiled, text, 1, PCAP_NETMASK_UNKNOWN), 0);
	size = compiled.bf_len;
	assert_in_range(size, 1, CAPTURE_MAX_PROGRAM);
	memcpy(program, compiled.bf_insns, size * sizeof(program[0]));
	pcap_freecode(&compiled);
	pcap_close(dead);
	return capture_program_check(program, size);
}

static void test_programs_of_the_compiler_are_accepted(void **state)
{
	static const char *const texts[] = {"ip", "host 192.0.2.1 and tcp port 80",
		"ip6 net 2001:db8::/32 and not port 53", "vlan 7 and udp portrange 1000-2000",
		"tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn", "len > 1000 and ip[8] % 7 == 3 and ip[2:2] * 2 > 17",
		"ether host 02:00:00:00:00:01 or arp or icmp6"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(check_text(texts[i]));
	assert_non_null(check_text("ip6 protochain 6"));
}

/* Whatever a program does that is accepted, libpcap neither aborts nor reads beyond the packet. */
static void test_accepted_random_programs_end(void **state)
{
	static const uint8_t codes[] = {0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1,
		0x02, 0x03, 0x04, 0x0c, 0x1c, 0x2c, 0x34, 0x3c, 0x4c, 0x5c, 0x64, 0x6c, 0x7c, 0x84, 0x9c, 0xac, 0x05,
		0x15, 0x2d, 0x06, 0x16, 0x07, 0x87};
	const struct pcap_pkthdr header = {.caplen = 64, .len = 64};
	uint8_t *packet = calloc(1, 64);
	unsigned accepted = 0;

	(void)state;
	srandom(1);
	for (unsigned round = 0; round < 200000; round++) {
		struct capture_instruction program[8];
		uint32_t size = 1 + (uint32_t)random() % 8;

		for (uint32_t i = 0; i < size; i++)
			program[i] = (struct capture_instruction){
				.code = i + 1 == size ? 0x06 : codes[(size_t)random() % sizeof(codes)],
				.jump_true = (uint8_t)(random() % 4),
				.jump_false = (uint8_t)(random() % 4),
				.k = random() % 4 ? (uint32_t)random() % 70 : (uint32_t)random() * 2654435761u,
			};
		if (capture_program_check(program, size))
			continue;
		accepted++;
		pcap_offline_filter(&(struct bpf_program){size, (struct bpf_insn *)program}, &header, packet);
	}
	assert_in_range(accepted, 1000, 200000);
	free(packet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs_that_may_not_end_are_refused),
		cmocka_unit_test(test_programs_that_abort_are_refused),
		cmocka_unit_test(test_programs_of_the_compiler_are_accepted),
		cmocka_unit_test(test_accepted_random_programs_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
