/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that watches a card while another one waits for its driver, which may wait for ever. It logs which card does
 * not answer, and ends the process if it is to end.
 */
#pragma once

#include <pthread.h>

#include "director/ports/port.h"

#define PORT_WATCH_LOG_MS 10000
#define PORT_WATCH_END_MS 5000

enum port_watch_kind {
	/* Logs after PORT_WATCH_LOG_MS, and ends the process PORT_WATCH_END_MS after SIGTERM or SIGINT */
	PORT_WATCH_START,
	PORT_WATCH_RECOVERY, /* logs after PORT_WATCH_LOG_MS */
	PORT_WATCH_STOP, /* ends the process after PORT_WATCH_END_MS */
};

struct port_watch {
	enum port_watch_kind kind;
	char what[RTE_ETH_NAME_MAX_LEN + 128];
	int log_ms;
	int done; /* eventfd, ends the thread; -1: there is none */
	int signals; /* signalfd; -1: signals do not end the process */
	pthread_t thread;
};

/*
 * Then the caller asks the driver, and calls port_watch_end(). port: its members are copied; NULL: EAL, which drives
 * all cards. log_ms: PORT_WATCH_LOG_MS; -1: never. SIGTERM and SIGINT are blocked; port_watch leaves them for others.
 * If there is no thread, logs why.
 */
void port_watch_begin(struct port_watch *watch, enum port_watch_kind kind, const struct port *port, int log_ms);
void port_watch_end(struct port_watch *watch);
