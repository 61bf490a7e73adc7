/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: lets a test report events of ports to glb-director, which virtual drivers do not. A thread reads commands from the FIFO
 * $GLB_TEST_EVENTS, one per line: "EVENT PORT"; "silent-down PORT" or "silent-up PORT" to change a link and lose the event; "unplug PORT", by
 * which the kernel asks for the device of a port; "fail COUNT", "absent COUNT" or "refuse COUNT" to let the next COUNT resets fail, the next COUNT attempts to attach a device, or the next
 * COUNT configurations; "early COUNT" to ask for a reset at the end of the next COUNT starts. It also replaces rte_eth_dev_reset(), which
 * virtual drivers lack: the port is stopped, as drivers of VFs leave it. With $GLB_TEST_DRIVER, drivers have this name, and lack the function. Drivers can report changes of the link. If they are told to, DPDK replies
 * with the link as of the last event. "hang 1" lets cards be silent when they are started or stopped, until "hang 0"; with $GLB_TEST_SILENT they
 * are silent from the beginning. With $GLB_TEST_EARLY, the first start asks for a reset, too. With
 * $GLB_TEST_SLOW_LINK, the link is down when it is first read after a start. With $GLB_TEST_INTERRUPTS, ports seem to be cards on vfio-pci
 * with receive interrupts, of which none comes.
 */
#define ALLOW_EXPERIMENTAL_API
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

/* DPDK exports these functions for drivers. The packages of DPDK do not have the header. */
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_callback_process(struct rte_eth_dev *device, enum rte_eth_event_type event, void *result);

static int failures, absences, refusals, early, down; /* atomic; `down`: bits 1 << port whose link is down */
static int reporting,
	reported_down; /* atomic; as `down`: ports that report changes of the link, and their links at the last event */
static int silent; /* atomic */
static int slow; /* atomic; bits 1 << port whose link has not been read since the port was started */
static const uint32_t device_flags = RTE_ETH_DEV_INTR_LSC;

static const struct {
	const char *name;
	enum rte_eth_event_type type;
} events[] = {
	{"link", RTE_ETH_EVENT_INTR_LSC},
	{"down", RTE_ETH_EVENT_INTR_LSC},
	{"up", RTE_ETH_EVENT_INTR_LSC},
	{"reset", RTE_ETH_EVENT_INTR_RESET},
	{"remove", RTE_ETH_EVENT_INTR_RMV},
	{"recovering", RTE_ETH_EVENT_ERR_RECOVERING},
	{"recovered", RTE_ETH_EVENT_RECOVERY_SUCCESS},
	{"unrecovered", RTE_ETH_EVENT_RECOVERY_FAILED},
};

/* Returns whether this attempt is one of those that must fail. */
static bool count_down(int *left)
{
	int value = __atomic_load_n(left, __ATOMIC_RELAXED);

	if (value > 0)
		__atomic_store_n(left, value - 1, __ATOMIC_RELAXED);
	return value > 0;
}

int rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	int (*get)(uint16_t, struct rte_eth_dev_info *) = dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
	int error = get(port, info);

	if (error)
		return error;
	if (getenv("GLB_TEST_DRIVER"))
		info->driver_name = getenv("GLB_TEST_DRIVER");
	info->dev_flags = &device_flags;
	return 0;
}

int rte_eth_dev_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, const struct rte_eth_conf *conf)
{
	int (*configure)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *) =
		dlsym(RTLD_NEXT, "rte_eth_dev_configure");
	struct rte_eth_conf without = *conf;

	if (count_down(&refusals))
		return -EINVAL;
	without.intr_conf.lsc = 0;
	if (conf->intr_conf.lsc)
		__atomic_fetch_or(&reporting, 1 << port, __ATOMIC_RELAXED);
	return configure(port, rx_queues, tx_queues, &without);
}

ssize_t readlink(const char *restrict path, char *restrict target, size_t size)
{
	static const char driver[] = "vfio-pci";
	ssize_t (*read_link)(const char *, char *, size_t) = dlsym(RTLD_NEXT, "readlink");

	if (!getenv("GLB_TEST_INTERRUPTS") || strncmp(path, "/sys/bus/pci/", 13) != 0 || size < sizeof(driver))
		return read_link(path, target, size);
	memcpy(target, driver, sizeof(driver) - 1);
	return sizeof(driver) - 1;
}

int rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	return getenv("GLB_TEST_INTERRUPTS") ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
}

int rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	return 0;
}

int rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue)
{
	(void)port, (void)queue;
	return 0;
}

static void report(uint16_t port, enum rte_eth_event_type type)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	if (rte_eth_dev_get_name_by_port(port, name) == 0)
		rte_eth_dev_callback_process(rte_eth_dev_allocated(name), type, NULL);
}

static void wait_for_card(void)
{
	while (__atomic_load_n(&silent, __ATOMIC_RELAXED))
		usleep(1000);
}

int rte_eth_dev_start(uint16_t port)
{
	int (*begin)(uint16_t) = dlsym(RTLD_NEXT, "rte_eth_dev_start"), error;

	wait_for_card();
	error = begin(port);
	if (getenv("GLB_TEST_SLOW_LINK"))
		__atomic_fetch_or(&slow, 1 << port, __ATOMIC_RELAXED);
	if (!error && count_down(&early))
		report(port, RTE_ETH_EVENT_INTR_RESET);
	return error;
}

int rte_eth_dev_stop(uint16_t port)
{
	int (*end)(uint16_t) = dlsym(RTLD_NEXT, "rte_eth_dev_stop");

	wait_for_card();
	return end(port);
}

int rte_eth_dev_reset(uint16_t port)
{
	if (getenv("GLB_TEST_DRIVER"))
		return -ENOTSUP;
	return count_down(&failures) ? -EIO : rte_eth_dev_stop(port);
}

int rte_dev_probe(const char *arguments)
{
	int (*probe)(const char *) = dlsym(RTLD_NEXT, "rte_dev_probe");

	return count_down(&absences) ? -ENODEV : probe(arguments);
}

int rte_eth_link_get_nowait(uint16_t port, struct rte_eth_link *link)
{
	int (*get)(uint16_t, struct rte_eth_link *) = dlsym(RTLD_NEXT, "rte_eth_link_get_nowait");
	int error = get(port, link);
	bool reports = __atomic_load_n(&reporting, __ATOMIC_RELAXED) >> port & 1;

	if (__atomic_load_n(reports ? &reported_down : &down, __ATOMIC_RELAXED) >> port & 1)
		link->link_status = RTE_ETH_LINK_DOWN;
	if (__atomic_fetch_and(&slow, ~(1 << port), __ATOMIC_RELAXED) >> port & 1)
		link->link_status = RTE_ETH_LINK_DOWN;
	return error;
}

static void unplug(uint16_t port)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port, &info) == 0)
		rte_dev_event_callback_process(rte_dev_name(info.device), RTE_DEV_EVENT_REMOVE);
}

static void obey(const char *line)
{
	char word[32];
	int number;

	if (sscanf(line, "%31s %d", word, &number) != 2)
		return;
	if (strcmp(word, "fail") == 0)
		__atomic_store_n(&failures, number, __ATOMIC_RELAXED);
	if (strcmp(word, "refuse") == 0)
		__atomic_store_n(&refusals, number, __ATOMIC_RELAXED);
	if (strcmp(word, "early") == 0)
		__atomic_store_n(&early, number, __ATOMIC_RELAXED);
	if (strcmp(word, "hang") == 0)
		__atomic_store_n(&silent, number, __ATOMIC_RELAXED);
	if (strcmp(word, "absent") == 0)
		__atomic_store_n(&absences, number, __ATOMIC_RELAXED);
	if (strcmp(word, "down") == 0 || strcmp(word, "silent-down") == 0)
		__atomic_fetch_or(&down, 1 << number, __ATOMIC_RELAXED);
	if (strcmp(word, "up") == 0 || strcmp(word, "silent-up") == 0)
		__atomic_fetch_and(&down, ~(1 << number), __ATOMIC_RELAXED);
	if (strcmp(word, "down") == 0 || strcmp(word, "up") == 0)
		__atomic_store_n(&reported_down, __atomic_load_n(&down, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	if (strcmp(word, "unplug") == 0)
		unplug((uint16_t)number);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(word, events[i].name) == 0)
			report((uint16_t)number, events[i].type);
}

/* Reads without stdio: exit() of newer versions of glibc waits for the lock of a FILE in which a thread reads. */
static void *run(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* waits until the test opens the other end */
	char line[64];
	size_t length = 0;

	while (fd >= 0 && length < sizeof(line) && read(fd, line + length, 1) == 1) {
		if (line[length++] != '\n')
			continue;
		line[length - 1] = '\0';
		obey(line);
		length = 0;
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* The commands that start the director, such as nsenter, also load this library. */
__attribute__((constructor)) static void start(void)
{
	char *path = getenv("GLB_TEST_EVENTS");
	sigset_t all, old;
	pthread_t thread;

	if (!path || strcmp(program_invocation_short_name, "glb-director") != 0)
		return;
	silent = getenv("GLB_TEST_SILENT") != NULL;
	early = getenv("GLB_TEST_EARLY") != NULL;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are for the director's threads */
	if (pthread_create(&thread, NULL, run, path) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
