#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: compile.py TEMPLATE OUTPUT

Translates a page into C at build time. In the template,

  {{text name}}      becomes html_text(to, name); a function of html.h prints, and escapes, every value
  {% C code %}       is copied
  {< file >}         is the content of a file in the template's folder, and its hash is allowed by HTML_POLICY
  {# comment #}      is left out

Everything else is written as it is, without the tabs at the start of lines, and without line ends between two of these."""

import base64
import hashlib
import pathlib
import re
import sys

TOKEN = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}|\{<(.*?)>\}|\{#.*?#\}", re.DOTALL)
# Who can change the text of a page cannot run scripts, load anything, or put the page into a frame.
POLICY = "default-src 'none'; style-src {css}; script-src {js}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def literal(text):
    """A C literal of these bytes. Octal escapes have three digits, so that no digit can follow."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "?": "\\?"}
    return '"' + "".join(plain.get(each) or (each if " " <= each <= "~" else "".join(f"\\{byte:03o}" for byte in each.encode()))
                         for each in text) + '"'


def write(text):
    size = len(text.encode())
    return f"fwrite({literal(text)}, 1, {size}, to);\n" if size else ""


def compile_page(template):
    source = template.read_text()
    source = re.sub(r"^\t+", "", source, flags=re.MULTILINE)
    source = re.sub(r"^(\{[%#].*?[%#]\})[\t ]*\n", r"\1", source, flags=re.MULTILINE | re.DOTALL)
    output, hashes, end = [], {}, 0

    def add(text):
        if text.strip() or "\n" not in text:
            output.append(write(text))

    for match in TOKEN.finditer(source):
        add(source[end:match.start()])
        end = match.end()
        value, code, name = match.groups()
        if value is not None:
            function, _, arguments = value.strip().partition(" ")
            output.append(f"html_{function}(to, {arguments});\n")
        elif code is not None:
            output.append(code.strip() + "\n")
        elif name is not None:
            content = (template.parent / name.strip()).read_text()
            if "</" in content:
                raise SystemExit(f"{name.strip()}: it contains </, which may end the element that it is in")
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            hashes[name.strip().rpartition(".")[2]] = f"'sha256-{digest}'"
            output.append(write(content))
    add(source[end:])
    if hashes:
        output.insert(0, f'#define HTML_POLICY_TEXT "{POLICY.format(**hashes)}"\n')
    return "".join(output)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(f"/* Made from {pathlib.Path(sys.argv[1]).name} */\n" + compile_page(pathlib.Path(sys.argv[1])))
