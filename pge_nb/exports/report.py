"""A run as one page, and as a notebook that needs neither this package nor a kernel to be read."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Mapping
from dataclasses import replace

from .. import __version__, views
from ..display import Block, Fold, Picture, View, html_of, markdown_of
from ..markdown import inline, visible
from ..run import Run
from ..views.ends import caveats, foot, title
from ..views.findings import findings_tables
from ..views.said import said_table

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
section { overflow-x: auto; } img { height: auto; } footer { margin-top: 2rem; font-size: 0.85rem; }
""".strip()
"""The ground and the letters are those of the reader's own light or dark page."""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Nothing on the page is run or fetched, whatever an agent has written into it."""


def parts(run: Run) -> Iterator[tuple[str, View]]:
    """Headings, and what stands below each."""
    yield "Plan", views.plan_view(run)
    yield "Contracts", views.contract_view(run)
    evaluations = views.evaluations_view(run)
    yield "Evaluations", replace(evaluations, blocks=(*evaluations.blocks, *_every_evaluation(run)))
    yield "Trajectory", views.trajectory_view(run)
    decisions, words = views.decisions_view(run), said_table(run)
    yield "Decisions", replace(decisions, blocks=(*decisions.blocks, *([words] if words else [])))
    yield "Cost", views.cost_view(run)


def _every_evaluation(run: Run) -> Iterator[Block]:
    for step in run.every_step:
        if len(run.of("evaluation", step.number)) > 1:
            tables = tuple(findings_tables(run, step.number, standing=False))
            yield Fold(summary=f"Every evaluation of step {step.number}", blocks=tables)


def page(run: Run) -> bytes:
    """One HTML page of the whole run: no script, nothing from elsewhere, readable on light and on dark ground."""
    name = html.escape(visible(title(run)))
    sections = [
        "\n".join([f"<section>\n<h2>{heading}</h2>", *map(html_of, view.blocks), "</section>"])
        for heading, view in parts(run)
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="pge_nb {__version__}">',
            f"<title>{name}</title>\n<style>\n{STYLE}\n</style>\n</head>",
            "<body>\n<main>",
            f'<h1 dir="auto">{name}: {html.escape(run.outcome)}</h1>',
            *(f"<p>{html.escape(visible(note))}</p>" for note in caveats(run)),
            *sections,
            f"</main>\n<footer>{html.escape(visible(foot(run)))}</footer>\n</body>\n</html>\n",
        ]
    ).encode()


def notebook(run: Run) -> bytes:
    """A notebook of the run: plan and contracts as text, the rest as saved outputs of cells that need not be run."""
    import nbformat

    made = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            # Ids are numbered: by lot, no two exports of a run were the same.
            "cells": [{**cell, "id": f"report-{number}"} for number, cell in enumerate(_cells(run))],
        }
    )
    nbformat.validate(made)
    return f"{nbformat.writes(made)}\n".encode()  # type: ignore[no-untyped-call]


def _cells(run: Run) -> Iterator[dict[str, object]]:
    yield _words(f"# {inline(title(run))}: {run.outcome}", *map(inline, caveats(run)))
    for heading, view in parts(run):
        if heading in ("Plan", "Contracts"):
            pictures, rest = _parted(view)
            yield _words(f"## {heading}", *map(markdown_of, rest))
            if pictures:
                yield _saved(heading.lower(), [_output(_picture(one)) for one in pictures])
        else:
            yield _words(f"## {heading}")
            yield _shown(heading.lower(), view)
    yield _words(inline(foot(run)))


def _words(*paragraphs: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": "\n\n".join(paragraphs)}


def _shown(what: str, view: View) -> dict[str, object]:
    """A cell that holds what ``%pge show`` showed: pictures as pictures, so that a PDF of the notebook has them too.

    What runs whole notebooks skips it, so that its outputs stay.
    """
    pictures, rest = _parted(view)
    outputs = [_output(_picture(one)) for one in pictures]
    outputs.append(_output(replace(view, blocks=rest, notes=(), next="", foot="")._repr_mimebundle_()))
    return _saved(what, outputs)


def _parted(view: View) -> tuple[list[Picture], tuple[Block, ...]]:
    """The pictures of a view, and the rest of it."""
    pictures = [block for block in view.blocks if isinstance(block, Picture)]
    return pictures, tuple(block for block in view.blocks if not isinstance(block, Picture))


def _saved(what: str, outputs: list[dict[str, object]]) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"jupyter": {"source_hidden": True}, "tags": ["hide-input", "skip-execution"]},
        "source": f"# What %pge show {what} showed is saved below; there is nothing to run here.",
        "outputs": outputs,
    }


def _output(bundle: Mapping[str, str]) -> dict[str, object]:
    return {"output_type": "display_data", "metadata": {}, "data": dict(bundle)}


def _picture(picture: Picture) -> dict[str, str]:
    """A picture as HTML, which alone has an alt text everywhere, and as PNG, for what makes no use of HTML."""
    drawn = base64.b64encode(picture.draw()).decode("ascii")
    return {"text/html": html_of(picture), "image/png": drawn, "text/plain": f"Chart: {visible(picture.alt)}"}
