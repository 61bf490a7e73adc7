/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: the kernel is out of memory at the first two loads of the program glb_redirect, because libbpf tries twice. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	static int failed;
	const union bpf_attr *attr;
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	attr = (const union bpf_attr *)arg[1];
	if (number == SYS_bpf && arg[0] == BPF_PROG_LOAD && strcmp(attr->prog_name, "glb_redirect") == 0 && failed++ < 2) {
		errno = ENOMEM;
		return -1;
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
