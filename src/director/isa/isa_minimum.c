/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's libraries are built for CPUs with SSE4.2 and POPCNT, and use them before main(): on another CPU the director
 * would end with an illegal instruction.
 */
#ifdef __x86_64__
#include <unistd.h>

static void refuse_old_cpu(void)
{
	static const char text[] =
		"glb-director: error: this CPU has no SSE4.2 and POPCNT, or the hypervisor hides them, and DPDK needs them: in a virtual machine, use the CPU of the host\n";

	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
		_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* The loader calls it before the constructors of libraries. */
__attribute__((section(".preinit_array"), used)) static void (*before_libraries)(void) = refuse_old_cpu;
#endif
