/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "director/plan.h"

struct setting {
	struct plan plan;
	struct conf conf;
	struct faults faults;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct setting));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct setting *setting = *state;

	faults_clear(&setting->faults);
	free(setting);
	return 0;
}

static void add_port(struct setting *setting, uint16_t rx_queues, uint16_t tx_queues)
{
	setting->plan.ports[setting->plan.port_count] = (struct plan_port){
		.id = setting->plan.port_count,
		.max_rx_queues = rx_queues,
		.max_tx_queues = tx_queues,
	};
	setting->plan.port_count++;
}

/* lcores 1..count */
static int make(struct setting *setting, uint16_t count)
{
	uint16_t lcores[PLAN_MAX_LCORES];

	for (uint16_t i = 0; i < count; i++)
		lcores[i] = i + 1;
	return plan_make(&setting->plan, &setting->conf, lcores, count, &setting->faults);
}

static void assert_path(const struct plan_flow_path *path, uint16_t lcore, enum plan_kind kind, uint16_t rx_port,
	uint16_t rx_queue, uint16_t tx_port, uint16_t tx_queue)
{
	assert_int_equal(path->lcore, lcore);
	assert_int_equal(path->kind, kind);
	assert_int_equal(path->rx_port, rx_port);
	assert_int_equal(path->rx_queue, rx_queue);
	assert_int_equal(path->tx_port, tx_port);
	assert_int_equal(path->tx_queue, tx_queue);
}

static void assert_fails(struct setting *setting, uint16_t lcores, const char *text)
{
	assert_int_equal(make(setting, lcores), -EINVAL);
	assert_non_null(strstr(faults_first_error(&setting->faults), text));
}

static void test_every_lcore_polls_its_own_queue_of_every_port(void **state)
{
	struct setting *setting = *state;
	const struct plan_flow_path *paths = setting->plan.paths;

	add_port(setting, 16, 16);
	add_port(setting, 2, 2);
	assert_int_equal(make(setting, 2), 0);
	assert_int_equal(setting->plan.path_count, 4);
	assert_path(&paths[0], 1, PLAN_DIRECT, 0, 0, 0, 0);
	assert_path(&paths[1], 2, PLAN_DIRECT, 0, 1, 0, 1);
	assert_path(&paths[2], 1, PLAN_DIRECT, 1, 0, 1, 0);
	assert_path(&paths[3], 2, PLAN_DIRECT, 1, 1, 1, 1);
	assert_int_equal(setting->plan.ports[0].rx_queues, 2);
	assert_int_equal(setting->plan.ports[0].tx_queues, 2);
	assert_int_equal(setting->plan.lcore_count, 2);
}

static void test_one_queue_is_distributed_and_handed_back(void **state)
{
	struct setting *setting = *state;
	const struct plan_flow_path *paths = setting->plan.paths;

	add_port(setting, 1, 1);
	assert_int_equal(make(setting, 3), 0);
	assert_int_equal(setting->plan.path_count, 3);
	assert_path(&paths[0], 1, PLAN_DISTRIBUTE, 0, 0, 0, 0);
	assert_path(&paths[1], 2, PLAN_WORK, 0, 0, 0, PLAN_HAND_BACK);
	assert_path(&paths[2], 3, PLAN_WORK, 0, 0, 0, PLAN_HAND_BACK);
	assert_int_equal(paths[1].source, 0);
	assert_int_equal(paths[2].source, 0);
	assert_int_equal(setting->plan.ports[0].tx_queues, 1);
}

static void test_workers_transmit_themselves_if_there_are_enough_queues(void **state)
{
	struct setting *setting = *state;
	const struct plan_flow_path *paths = setting->plan.paths;

	add_port(setting, 2, 5);
	assert_int_equal(make(setting, 5), 0);
	assert_int_equal(setting->plan.path_count, 5);
	assert_path(&paths[0], 1, PLAN_DISTRIBUTE, 0, 0, 0, 0);
	assert_path(&paths[1], 3, PLAN_WORK, 0, 0, 0, 2);
	assert_path(&paths[2], 5, PLAN_WORK, 0, 0, 0, 3);
	assert_path(&paths[3], 2, PLAN_DISTRIBUTE, 0, 1, 0, 1);
	assert_path(&paths[4], 4, PLAN_WORK, 0, 1, 0, 4);
	assert_int_equal(paths[4].source, 3);
	assert_int_equal(setting->plan.ports[0].tx_queues, 5);
}

static void test_a_port_that_fills_one_queue_has_a_distributor(void **state)
{
	struct setting *setting = *state;
	const struct plan_flow_path *paths = setting->plan.paths;

	add_port(setting, 2, 2);
	setting->plan.ports[0].fills_one_queue = true;
	assert_int_equal(make(setting, 2), 0);
	assert_int_equal(setting->plan.ports[0].rx_queues, 1);
	assert_path(&paths[0], 1, PLAN_DISTRIBUTE, 0, 0, 0, 0);
	assert_path(&paths[1], 2, PLAN_WORK, 0, 0, 0, 1);
	setting->conf.num_worker_queues = 2; /* the operator knows better */
	assert_int_equal(make(setting, 2), 0);
	assert_int_equal(setting->plan.ports[0].rx_queues, 2);
}

static void test_a_receiver_without_workers_works_alone(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 2, 2);
	assert_int_equal(make(setting, 3), 0);
	assert_path(&setting->plan.paths[0], 1, PLAN_DISTRIBUTE, 0, 0, 0, 0);
	assert_path(&setting->plan.paths[2], 2, PLAN_DIRECT, 0, 1, 0, 1);
}

static void test_an_lcore_polls_several_queues_if_there_are_more(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 8, 8);
	setting->conf.num_worker_queues = 3;
	assert_int_equal(make(setting, 2), 0);
	assert_int_equal(setting->plan.path_count, 3);
	assert_path(&setting->plan.paths[0], 1, PLAN_DIRECT, 0, 0, 0, 0);
	assert_path(&setting->plan.paths[1], 2, PLAN_DIRECT, 0, 1, 0, 1);
	assert_path(&setting->plan.paths[2], 1, PLAN_DIRECT, 0, 2, 0, 2);
}

static void test_fewer_queues_than_lcores_may_be_configured(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 8, 8);
	setting->conf.num_worker_queues = 1;
	assert_int_equal(make(setting, 2), 0);
	assert_path(&setting->plan.paths[0], 1, PLAN_DISTRIBUTE, 0, 0, 0, 0);
	assert_path(&setting->plan.paths[1], 2, PLAN_WORK, 0, 0, 0, 1);
}

static void test_queues_that_a_port_lacks_are_an_error(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 2, 4);
	setting->conf.num_worker_queues = 3;
	assert_fails(setting, 4, "num_worker_queues: 3 queue pairs are wanted, but port 0 has 2 rx and 4 tx");
}

static void configure_distributor(struct conf *conf)
{
	conf->flow_path_count = 1;
	conf->flow_paths[0] = (struct conf_flow_path){.rx_port = 0, .rx_queue = 0, .tx_port = 1, .tx_queue = 2};
	conf->lcore_count = 2;
	conf->lcores[0] = (struct conf_lcore){
		.id = 2, .rx = true, .tx = true, .dist = true, .num_dist_workers = 1, .flow_path_count = 1};
	conf->lcores[1] = (struct conf_lcore){.id = 1, .work = true, .work_source = 2};
}

static void test_configured_lcores_replace_the_default(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 4, 4);
	add_port(setting, 4, 4);
	configure_distributor(&setting->conf);
	assert_int_equal(make(setting, 3), 0);
	assert_int_equal(setting->plan.path_count, 2);
	assert_path(&setting->plan.paths[0], 2, PLAN_DISTRIBUTE, 0, 0, 1, 2);
	assert_path(&setting->plan.paths[1], 1, PLAN_WORK, 0, 0, 1, 3);
	assert_int_equal(setting->plan.ports[0].rx_queues, 1);
	assert_int_equal(setting->plan.ports[0].tx_queues, 0);
	assert_int_equal(setting->plan.ports[1].tx_queues, 4);
	assert_int_equal(setting->plan.lcore_count, 2); /* lcore 3 stays idle */
}

static void test_exception_path_leaves_by_the_port_it_came_from(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 4, 4);
	add_port(setting, 4, 4);
	configure_distributor(&setting->conf);
	setting->conf.exception_path = CONF_EXCEPTION_TAP;
	assert_int_equal(make(setting, 3), 0);
	assert_int_equal(setting->plan.paths[0].return_queue, 0);
	assert_int_equal(setting->plan.ports[0].tx_queues, 1);
	assert_false(setting->plan.ports[0].forwards); /* it transmits only what comes from the exception path */
	assert_true(setting->plan.ports[1].forwards);
}

/* The other lcore has a queue of that port, but two lcores may not share a transmit queue. */
static void test_exception_path_shares_no_queue_with_another_lcore(void **state)
{
	struct setting *setting = *state;
	struct conf *conf = &setting->conf;

	add_port(setting, 4, 4);
	add_port(setting, 4, 4);
	conf->exception_path = CONF_EXCEPTION_TAP;
	for (uint16_t i = 0; i < 2; i++) {
		conf->flow_paths[i] = (struct conf_flow_path){.rx_port = i, .tx_port = !i};
		conf->lcores[i] = (struct conf_lcore){
			.id = i + 1, .rx = true, .tx = true, .flow_path_count = 1, .flow_paths = {i}};
	}
	conf->flow_path_count = conf->lcore_count = 2;
	assert_int_equal(make(setting, 2), 0);
	for (uint16_t i = 0; i < 2; i++) {
		assert_path(&setting->plan.paths[i], i + 1, PLAN_DIRECT, i, 0, !i, 0);
		assert_int_equal(setting->plan.paths[i].return_queue, 1);
		assert_int_equal(setting->plan.ports[i].tx_queues, 2);
	}
}

static void test_configured_worker_hands_back_if_no_queue_is_left(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 4, 4);
	add_port(setting, 4, 3);
	configure_distributor(&setting->conf);
	assert_int_equal(make(setting, 3), 0);
	assert_path(&setting->plan.paths[1], 1, PLAN_WORK, 0, 0, 1, PLAN_HAND_BACK);
	assert_int_equal(setting->plan.ports[1].tx_queues, 3);
}

static void test_exception_path_uses_a_queue_that_the_lcore_already_has(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 1, 1);
	setting->conf.exception_path = CONF_EXCEPTION_TAP;
	assert_int_equal(make(setting, 2), 0);
	assert_int_equal(setting->plan.paths[0].return_queue, 0);
	assert_int_equal(setting->plan.ports[0].tx_queues, 1);
}

static void test_configured_ports_queues_and_lcores_must_exist(void **state)
{
	struct setting *setting = *state;

	add_port(setting, 4, 4);
	configure_distributor(&setting->conf);
	assert_fails(setting, 3, "flow_paths[0]: tx_port: DPDK has no such port (1)");
	faults_clear(&setting->faults);
	add_port(setting, 4, 2);
	assert_fails(setting, 3, "flow_paths[0]: tx_queue: the port has fewer tx queues (2)");
	faults_clear(&setting->faults);
	setting->plan.ports[1].max_tx_queues = 4;
	assert_fails(setting, 1, "lcores.lcore-2: EAL has no worker lcore 2");
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_every_lcore_polls_its_own_queue_of_every_port),
		CASE(test_one_queue_is_distributed_and_handed_back),
		CASE(test_workers_transmit_themselves_if_there_are_enough_queues),
		CASE(test_a_port_that_fills_one_queue_has_a_distributor),
		CASE(test_a_receiver_without_workers_works_alone),
		CASE(test_an_lcore_polls_several_queues_if_there_are_more),
		CASE(test_fewer_queues_than_lcores_may_be_configured),
		CASE(test_queues_that_a_port_lacks_are_an_error),
		CASE(test_configured_lcores_replace_the_default),
		CASE(test_exception_path_leaves_by_the_port_it_came_from),
		CASE(test_exception_path_shares_no_queue_with_another_lcore),
		CASE(test_configured_worker_hands_back_if_no_queue_is_left),
		CASE(test_exception_path_uses_a_queue_that_the_lcore_already_has),
		CASE(test_configured_ports_queues_and_lcores_must_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
