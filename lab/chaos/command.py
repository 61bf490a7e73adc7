# SPDX-License-Identifier: BSD-3-Clause
"""script/chaos: seeded failures of a whole lab, judged by the model.

Runs directors, proxies, health checks, glb-fleet and etcd in network
namespaces under load, and makes everything fail: programs are killed (-9),
tables are corrupt, links are cut and lose packets, disks are full, clocks
step, floods come, and operators change the table meanwhile. Every broken
connection must be one that the model predicts, and every packet must be
counted. Exits with 1 if there is a fault, and prints the command that
replays it: the same seed makes the same decisions. Needs root.
"""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from lab import capsule, quic
from lab.chaos import plan
from lab.tools import BUILD, TIMEOUT_S, LabError, check_programs, check_tools
from lab.topology import UNDERLAYS, Shape

COMMAND = "script/chaos"
MOST_MINUTES = 24 * 60
ANSWER = "GLB_LAB_ANSWER_S"  # see load.py


def parse(argv):
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="chooses the events, 1 unless given")
    parser.add_argument("--minutes", type=minutes, default=1, metavar="M", help="how long they come, 1 unless given; a fraction is possible")
    parser.add_argument("--underlay", choices=UNDERLAYS, help="family of the addresses of directors and proxies; the seed chooses it unless given")
    parser.add_argument("--without-quic", action="store_true", help="no QUIC connections; there are none either if script/quic was not run")
    parser.add_argument("--other", type=os.path.abspath, metavar="BUILD", help="build folder of another version, to and from which directors change")
    parser.add_argument("--json", metavar="FILE", help="also write the report to a file")
    parser.add_argument("--plan", action="store_true", help="print the events, and run nothing; needs no root")
    return parser.parse_args(argv)


def minutes(text):
    value = float(text)
    if not 0.2 <= value <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"{text} is not from 0.2 to {MOST_MINUTES}")
    return value


def shape_of(arguments):
    return plan.shape_of(arguments.seed, arguments.underlay, quic=not arguments.without_quic and not quic.missing())


def replay(arguments, shape):
    """The command that makes the same decisions again."""
    words = [COMMAND, "--seed", str(arguments.seed), "--minutes", f"{arguments.minutes:g}", "--underlay", shape.underlay]
    words += ["--without-quic"] * (not shape.quic) + (["--other", arguments.other] if arguments.other else [])
    return shlex.join(words)


def show_plan(arguments, shape):
    for step in plan.steps(plan.make(arguments.seed, arguments.minutes, shape, bool(arguments.other))):
        print(f"{step.at:7.1f} s  #{step.event.number:<4} {'' if step.begins else 'end of '}{step.event}")


def outside(arguments):
    shape = shape_of(arguments)
    if arguments.plan:
        show_plan(arguments, shape)
        return 0
    if os.geteuid() != 0:
        raise LabError("network namespaces need root: run this command as root")
    check_tools()
    check_tools(("nft", "tc", "etcd"))
    for build in {BUILD, Path(arguments.other or BUILD)}:
        check_programs(shape, build)
    print(f"seed {arguments.seed}, {arguments.minutes:g} minutes: {shape.directors} directors, {shape.proxies} proxies, rows of {shape.hops} hops, {shape.underlay}", flush=True)
    if not shape.quic:
        print("without HTTP/3, whose programs script/quic builds", flush=True)
    if not arguments.other:
        print("without changes of the version, because --other gives no other build", flush=True)
    with open(arguments.json, "w") if arguments.json else contextlib.nullcontext() as file:
        report = in_capsule({"seed": arguments.seed, "minutes": arguments.minutes, "other": arguments.other, "shape": vars(shape)}, replay(arguments, shape))
        if file:
            file.write(json.dumps({**report, "replay": replay(arguments, shape)}, indent=1) + "\n")
    show(report, replay(arguments, shape))
    return 0 if report["passed"] else 1


def in_capsule(settings, command):
    """Runs in a new capsule, which returns the report through a pipe. The session of its own keeps Ctrl-C away from its programs."""
    ours, theirs = os.pipe()
    argv = capsule.self_argv("_inside", str(theirs), json.dumps(settings))
    process = subprocess.Popen(capsule.dying_with_us(capsule.capsule_argv(argv)), pass_fds=[theirs], start_new_session=True,
                               env={**os.environ, ANSWER: str(TIMEOUT_S)})
    os.close(theirs)
    try:
        with os.fdopen(ours) as pipe:
            text = pipe.read()
        if process.wait() or not text:
            raise LabError(f"the run stopped before its end: see the message above; to replay: {command}")
        return json.loads(text)
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        raise LabError("interrupted: all namespaces and processes of the lab are gone") from None


def inside(argv):
    from lab.chaos import run  # after the environment is that of the capsule, and only here, because it needs the model

    capsule.enter_capsule()
    settings = json.loads(argv[1])
    settings["shape"] = Shape(**settings["shape"])
    report = run.run(settings, lambda text: print(text, flush=True))
    with os.fdopen(int(argv[0]), "w") as pipe:
        json.dump(report, pipe)
    return 0


def show(report, command):
    print(f"\n{sum(report['events'].values())} events: " + ", ".join(f"{kind} {count}" for kind, count in report["events"].items()))
    print(f"{report['connections']} connections with {report['exchanges']} exchanges, {report['tables']} tables; {report['broken']} broken: "
          f"{report['predicted']} predicted {report['reasons']}, {report['unpredicted']} unpredicted")
    if "quic_connections" in report:
        print(f"QUIC: {report['quic_connections']}")
    print("packets of GUE:")
    for line in report["packets"]["accounts"]:
        print(f"  {line}")
    print("no fault" if report["passed"] else f"{len(report['faults'])} FAULTS; to replay: {command}", flush=True)
    for fault in report["faults"]:
        print(f"  {fault}")


def main():
    try:
        if sys.argv[1:2] == ["_inside"]:
            return inside(sys.argv[2:])
        return outside(parse(sys.argv[1:]))
    except LabError as error:
        print(f"chaos: {error}", file=sys.stderr)
    except OSError as error:
        print(f"chaos: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("chaos: interrupted", file=sys.stderr)
    return 1
