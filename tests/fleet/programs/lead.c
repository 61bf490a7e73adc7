/* SPDX-License-Identifier: BSD-3-Clause */
/* lead FLEET.CONF NAME: advances roll-outs as a glb-fleet does, but has no director. SIGTERM ends it in good order. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/signalfd.h>

#include "common/clock.h"
#include "fleet/fleet_conf.h"
#include "fleet/leader.h"
#include "program/log.h"

int main(int argc, char **argv)
{
	struct faults faults = {0};
	struct fleet_conf conf;
	struct leader *leader;
	struct etcd *etcd;
	sigset_t ends;
	int fd, wait_ms = 0;
	struct signalfd_siginfo info;

	if (argc != 3 || fleet_conf_read(argv[1], &conf, &faults) != 0 || !(etcd = etcd_open(&conf.etcd, &faults))) {
		fprintf(stderr, "lead: %s\n", faults_first_error(&faults));
		return 1;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	fd = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
	log_open(argv[2], false);
	leader = leader_open(etcd, conf.prefix, argv[2]);
	while (leader && read(fd, &info, sizeof(info)) < 0) {
		wait_ms = leader_step(leader, clock_now_ms());
		etcd_run(etcd, fd, wait_ms);
	}
	if (leader)
		leader_close(leader);
	etcd_close(etcd);
	fleet_conf_free(&conf);
	faults_clear(&faults);
	return 0;
}
