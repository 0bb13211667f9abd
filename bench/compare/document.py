# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A report as blocks, written as Markdown and as one HTML file with its pictures in it."""

import base64
import dataclasses
import html
import pathlib
import re
from typing import Sequence


@dataclasses.dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclasses.dataclass(frozen=True)
class Text:
    text: str            # `code` and **strong** are marked as in Markdown


@dataclasses.dataclass(frozen=True)
class Listing:
    items: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Picture:
    file: pathlib.Path
    text: str


Block = Heading | Text | Listing | Table | Picture

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0;font-size:.85rem}th,td{border:1px solid #bbb;padding:.25rem .5rem;
text-align:left;vertical-align:top}th{background:#eee}img{max-width:100%}code{background:#f2f2f2;padding:0 .2em}"""


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def markdown(blocks: Sequence[Block], pictures: str) -> str:
    """Pictures are linked beneath the folder `pictures`."""
    parts = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {block.text}")
        elif isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Listing):
            parts.append("\n".join(f"- {item}" for item in block.items))
        elif isinstance(block, Table):
            lines = [block.head, ["---"] * len(block.head), *block.rows]
            parts.append("\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines))
        else:
            parts.append(f"![{block.text}]({pictures}/{block.file.name})")
    return "\n\n".join(parts) + "\n"


def inline(text: str) -> str:
    """HTML of a text with its marks."""
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)


def html_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{inline(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{inline(block.text)}</p>"
    if isinstance(block, Listing):
        return "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Table):
        head = "".join(f"<th>{inline(text)}</th>" for text in block.head)
        rows = "".join("<tr>" + "".join(f"<td>{inline(text)}</td>" for text in row) + "</tr>" for row in block.rows)
        return f"<table><tr>{head}</tr>{rows}</table>"
    data = base64.b64encode(block.file.read_bytes()).decode("ascii")
    return f'<p><img alt="{html.escape(block.text)}" src="data:image/png;base64,{data}"></p>'


def page(title: str, blocks: Sequence[Block]) -> str:
    body = "\n".join(map(html_block, blocks))
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n")
