# SPDX-License-Identifier: BSD-3-Clause
"""script/check-source finds includes that src/rooms.txt does not allow, and comments that break the rules."""

import subprocess

import pytest

from support.tree import TREE

ROOMS = """\
common:
table: common
director: common table
cli: common
except cli: director/conf # it reads the file
order director: conf plan.h ports director.h control
"""
FILES = {
    "table/a.h": '#include "common/a.h"\n',
    "director/a.c": '#include "common/a.h"\n#include "table/a.h"\n',
    "cli/a.c": '#include "common/a.h"\n#include "director/conf/a.h"\n#include "losses.skel.h"\n#include <stdio.h>\n',
}


def check(folder, rooms=ROOMS, **files):
    """Returns what it says about a tree with these files, in addition to FILES. Their names have __ in place of a slash."""
    for name, text in {**FILES, **{name.replace("__", "/") + ".c": text for name, text in files.items()}}.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "src/rooms.txt").write_text(rooms)
    done = subprocess.run([TREE / "script/check-source", folder], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1 if done.stdout else 0, "")
    return done.stdout.replace(f"{folder}/", "").splitlines()


def test_nothing_is_said_about_a_tree_that_follows_the_rules(tmp_path):
    assert check(
        tmp_path,
        director__ports__a='#include "director/conf/a.h"\n#include "director/plan.h"\n',
        director__control__a='#include "director/director.h"\n',
    ) == []


@pytest.mark.parametrize(
    "file, include, fault",
    (
        ("table__b", "director/a.h", 'table may not include "director/a.h": src/rooms.txt allows common'),
        ("cli__b", "director/ports/a.h", 'cli may not include "director/ports/a.h": src/rooms.txt allows common director/conf'),
        ("cli__b", "director/conference.h", 'cli may not include "director/conference.h": src/rooms.txt allows common director/conf'),
        ("common__b", "table/a.h", 'common may not include "table/a.h": src/rooms.txt allows nothing'),
        ("table__b", "../cli/a.h", 'table may not include "../cli/a.h": src/rooms.txt allows common'),
        ("attic__b", "common/a.h", "src/rooms.txt has no room attic"),
        (
            "director__ports__b",
            "director/director.h",
            'director/ports may not include "director/director.h": the order in src/rooms.txt is conf plan.h ports director.h control',
        ),
        (
            "director__conf__b",
            "director/ports/a.h",
            'director/conf may not include "director/ports/a.h": the order in src/rooms.txt is conf plan.h ports director.h control',
        ),
    ),
    ids=("upwards", "another program", "similar name", "the lowest room", "relative path", "unknown room", "header of the room", "order of folders"),
)
def test_a_planted_include_is_found(tmp_path, file, include, fault):
    said = check(tmp_path, **{file: f'/* A file. */\n#include "{include}"\n'})
    assert said == [f"src/{file.replace('__', '/')}.c:2: {fault}"]


def test_a_header_in_the_order_includes_nothing_behind_it(tmp_path):
    (tmp_path / "src/director").mkdir(parents=True)
    (tmp_path / "src/director/plan.h").write_text('#include "director/director.h"\n')
    (said,) = check(tmp_path)
    assert said.startswith('src/director/plan.h:1: director/plan.h may not include "director/director.h"')


@pytest.mark.parametrize(
    "line, fault",
    (
        ("common: table", "src/rooms.txt:1: common may not include table, which is not above it"),
        ("except table: director/conf", "src/rooms.txt:1: an exception needs a reason: # why"),
    ),
)
def test_a_list_that_breaks_its_own_rules_is_refused(tmp_path, line, fault):
    assert fault in check(tmp_path, rooms=f"{line}\n{ROOMS}")


def test_an_entry_that_nobody_needs_is_reported(tmp_path):
    said = check(tmp_path, rooms=ROOMS.replace("cli: common", "cli: common table"))
    assert said == ["src/rooms.txt: cli includes nothing of table"]


@pytest.mark.parametrize("width, said", ((120, []), (121, ["src/table/b.c:3: a comment ends at column 121: at most 120"])))
def test_long_comments_are_found(tmp_path, width, said):
    text = "\t/*\n\t" + " * ".ljust(width - 8, "x") + "\n\t */\n"
    assert check(tmp_path, table__b="\n" + text) == said


def test_long_strings_are_allowed(tmp_path):
    assert check(tmp_path, table__b='const char *text = "/* Of ' + 120 * "x" + '";\n') == []


@pytest.mark.parametrize("comment", ("/* Of them. */", "/*\n * By index.\n */", "// So it is.", "int a; /* Those. */"))
def test_comments_that_begin_with_a_fragment_are_found(tmp_path, comment):
    (said,) = check(tmp_path, table__b=f"\n{comment}\n")
    assert said.startswith('src/table/b.c:2: a comment begins with "')


def test_words_that_only_begin_like_a_fragment_are_allowed(tmp_path):
    assert check(tmp_path, table__b="/* Offset of a row. */\n/* Some rows. */\n") == []
