/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/capture_program.h"

#include <stdbool.h>
#include <string.h>

enum {
	MEMORY_WORDS = 16,

	CLASS_MASK = 0x07,
	CLASS_JUMP = 0x05,
	CLASS_RETURN = 0x06,

	LOAD_MEMORY = 0x60,
	LOAD_X_MEMORY = 0x61,
	STORE = 0x02,
	STORE_X = 0x03,
	DIVIDE = 0x34, /* by the constant k */
	REMAINDER = 0x94,
	SHIFT_LEFT = 0x64,
	SHIFT_RIGHT = 0x74,
	JUMP = 0x05,
};

/* All instructions of classic BPF. */
static const uint8_t known[] = {
	0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, /* load */
	0x01, 0x61, 0x81, 0xb1, 0x02, 0x03, /* load x, store */
	0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, /* add to and */
	0x64, 0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c, 0xa4, 0xac, /* shift to exclusive or */
	0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, /* jump */
	0x06, 0x16, 0x07, 0x87, /* return, copy between the registers */
};

static const char *check_operand(const struct capture_instruction *instruction)
{
	uint32_t k = instruction->k;

	switch (instruction->code) {
	case LOAD_MEMORY:
	case LOAD_X_MEMORY:
	case STORE:
	case STORE_X:
		return k < MEMORY_WORDS ? NULL : "it uses memory that it does not have";
	case DIVIDE:
	case REMAINDER:
		return k ? NULL : "it divides by zero";
	case SHIFT_LEFT:
	case SHIFT_RIGHT:
		return k < 32 ? NULL : "it shifts by more than 31 bits";
	default:
		return NULL;
	}
}

/* left: instructions behind this one. */
static const char *check_jump(const struct capture_instruction *instruction, uint32_t left)
{
	if ((instruction->code & CLASS_MASK) != CLASS_JUMP)
		return NULL;
	if (instruction->code == JUMP && instruction->k >= left)
		return "it jumps backwards or over its end";
	if (instruction->code != JUMP && (instruction->jump_true >= left || instruction->jump_false >= left))
		return "it jumps over its end";
	return NULL;
}

const char *capture_program_check(const struct capture_instruction *program, uint32_t size)
{
	const char *fault = NULL;

	for (uint32_t i = 0; i < size && !fault; i++) {
		if (program[i].code > UINT8_MAX || !memchr(known, program[i].code, sizeof(known)))
			return "it has an unknown instruction";
		fault = check_operand(&program[i]);
		if (!fault)
			fault = check_jump(&program[i], size - 1 - i);
	}
	if (!fault && (size == 0 || (program[size - 1].code & CLASS_MASK) != CLASS_RETURN))
		return "it does not end with a return";
	return fault;
}
