/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of tables that can be read, but probably do not do what their author wants. table_json calls table_lint() for
 * JSON tables, and `glb-director-cli check` for binary ones. The parser of binary tables calls only
 * table_lint_families() and table_lint_names(), because the author saw the warnings when the table was built.
 */
#pragma once

#include "common/faults.h"
#include "table/table.h"

/* The most warnings of one kind about one table. A last one then counts the others. */
#define TABLE_LINT_MAX 10

/*
 * Adds an error for each table with backends of two families, because the hops of a packet have one family; and for
 * each table with more IPv6 hops than fit into the outer headers. All readers of tables call it.
 */
void table_lint_families(const struct table_set *set, struct faults *faults);

/* Adds an error for each table whose name another table has, because counters, logs and commands call tables by their
 * names. All readers of tables call it; version 2 has no names. */
void table_lint_names(const struct table_set *set, struct faults *faults);

/*
 * Adds errors about QUIC configurations, server IDs and binds with `quic` that exclude each other. All readers of
 * tables call it. A server ID that another proxy had in a previous state is an error if faults->thorough is set, and
 * otherwise a warning, because a director must keep forwarding.
 */
void table_lint_quic(const struct table_set *set, struct faults *faults);

/* Adds warnings about what table `t` says about QUIC, for table_lint(). */
void table_lint_quic_use(const struct table *table, uint32_t t, struct faults *faults);

/* Adds faults about backends inside binds, for table_lint(). */
void table_lint_vips(const struct table_set *set, struct faults *faults);

/* Adds warnings about the previous states of table `t`, for table_lint(). */
void table_lint_past(const struct table *table, uint32_t t, struct faults *faults);

/* Adds a warning if `own`, the source address of a director's GUE packets, is inside a bind. */
void table_lint_own_address(const struct table_set *set, const struct netaddr *own, struct faults *faults);

/*
 * Adds warnings about binds whose clients may send packets that never fit outbound_mtu with their outer headers: IPv6
 * packets of 1280 bytes, and IPv4 packets of 576. alt_hash: alt_hash_fields is set, so that packets have the hops of
 * two rows.
 */
void table_lint_mtu(const struct table_set *set, uint32_t outbound_mtu, bool alt_hash, struct faults *faults);

/*
 * Adds the warnings, and errors about backends that cannot work. If faults->thorough is set, a published key is an
 * error, and members are named that GLB's programs read otherwise. Skips addresses that table_json could not read: they
 * have no family.
 */
void table_lint(const struct table_set *set, struct faults *faults);
