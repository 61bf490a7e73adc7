#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: bench/figures/stages.py PROGRAM SAMPLES FILE.json

Adds to the figures in FILE.json, which `script/bench --json FILE.json` wrote, the share of time that each stage takes. SAMPLES has the
addresses of instructions that a timer interrupted. The debug information of PROGRAM says which function, inlined or not, has each one.
"""

import json
import subprocess
import sys
from collections import Counter

# The functions of each stage, in the fast path and in the general path. An instruction belongs to the innermost function in this list.
STAGES = {
    "mbufs in": "prefetch_packets load_mbufs load_with_copies mbuf_to_lane mbuf_obstacles",
    "load headers": "load_lanes load_parsed load_flow load_hints sort_families find_ineligible list_families find_few_others lanes_of_other_types split_families is_ipv6",
    "parse": "check_v4 check_v6 exclude_odd find_odd pipeline_parse flow_parse parse_ipv4 parse_ipv6",
    "find the table": "find_v4 find_v6 any_without_map find_tables load_entries find_by_port portmap_find portmap_prefix find_cover steer_classify classify_port classify_address_of classify_fragment_of",
    "SipHash": "plan_message write_message hash_lanes hash_block hash_flow steer_hash siphash_begin siphash_update siphash_end",
    "rows and hops": "prefetch_rows prefetch_long_rows load_pairs load_indices row_of load_later_hops find_alternative_hops find_hops collect_lanes collect_hops append_row",
    "lengths and checksum": "prepare_patches",
    "write headers": "emit pipeline_emit hide_odd emit_odd prebuilt_write encapsulate_write",
    "mbufs out": "send_forwarded finish_lane all_forwarded mbuf_commit",
    "send and count": "transmit transmit_forwarded count_sent count_forwarded count_backends send_to_port outbox_put take",
    "once a burst": "receive worker_run worker_loop_iterate flow_path_run run_ahead distribute_current steer_families steer_family prepare refresh_prebuilt "
                    "pipeline_run worker_steer steer_find_hops parse_and_classify parse_rest rejoin run_lanes steer_and_write forward_parsed forward_family lanes_avx512 lanes_avx2 lanes_plain queue_receive may_receive",
}
OTHER = "other"
STAGE_OF = {function: stage for stage, functions in STAGES.items() for function in functions.split()}


def read_samples(path):
    """[(description of the scenario, Counter of addresses)]"""
    found = []
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("{"):
                found.append((json.loads(line), Counter()))
            else:
                found[-1][1][int(line, 16)] += 1
    return found


def functions_at(program, addresses):
    """{address: names of the inlined functions and their caller, the innermost first}"""
    done = subprocess.run(
        ["addr2line", "-a", "-i", "-f", "-e", program], input="".join(f"{address:#x}\n" for address in addresses),
        stdout=subprocess.PIPE, text=True, check=True)
    found, names = {}, []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            names = found[int(line, 16)] = []
        else:
            names.append(line)
    return {address: lines[0::2] for address, lines in found.items()}  # every second line is a file and line number


def stage_of(functions):
    return next((STAGE_OF[name] for name in functions if name in STAGE_OF), OTHER)


def rows(program, samples):
    functions = functions_at(program, sorted({address for _, counts in samples for address in counts}))
    for what, counts in samples:
        stages = Counter()
        for address, count in counts.items():
            stages[stage_of(functions[address])] += count
        for stage in [*STAGES, OTHER]:
            share = round(stages[stage] / max(1, sum(counts.values())), 4)
            yield {
                "path": "profile", "what": stage, "how": what["path"], "set": what["set"], "family": what["family"],
                "tables": what["tables"], "binds": 16, "hops": 2, "backends": 64, "burst": 64, "lcores": 1, "unit": "share",
                "p10": share, "median": share, "noisy": False,
            }


def main(program, samples, target):
    with open(target, encoding="utf-8") as file:
        figures = json.load(file)
    figures += rows(program, read_samples(samples))
    with open(target, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in figures) + "\n]\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
