/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/verdict.h"

static const struct {
	const char *name, *help;
} texts[] = {
#define X(symbol, name, help) [symbol] = {name, help},
	VERDICT_LIST(X)
#undef X
};

const char *verdict_name(enum verdict verdict)
{
	return texts[verdict].name;
}

const char *verdict_help(enum verdict verdict)
{
	return texts[verdict].help;
}
