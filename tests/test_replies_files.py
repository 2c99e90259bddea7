"""The files in a generator's reply: found in every style in which models write them, and never a part of one."""

from __future__ import annotations

import json

import pytest

from pge_nb.agents.replies import files_in

CODE = "def area(w, h):\n    return w * h"
ONE = ("shapes.py",)
TWO = ("shapes.py", "src/solids.py")


@pytest.mark.parametrize(
    "opening",
    [
        "```python shapes.py",
        "```shapes.py",
        "``` shapes.py",
        "```python:shapes.py",
        "```python ./shapes.py",
        '```python title="shapes.py"',
        "```python filename=shapes.py",
        "```python file='shapes.py'",
        "```{.python file=shapes.py}",
        "```python {shapes.py}",
        "```py, shapes.py",
        "```python (shapes.py)",
        "```python path: shapes.py",
        "~~~python shapes.py",
        "   ```python shapes.py",
        "**shapes.py**\n```python",
        "### `shapes.py`\n\n```python",
        "File: shapes.py\n```python",
        "Filename: `shapes.py`:\n```",
        "file 1: shapes.py\n```python",
        "1. `shapes.py`\n```python",
        "> shapes.py:\n```python",
        "path: ./shapes.py\n```python",
        "Here is the file `shapes.py`:\n```python",
        "Now shapes.py.\n```python",
        "```python\n# shapes.py",
        "```python\n# File: shapes.py",
        "```python\n# path: shapes.py",
        "```\n// shapes.py",
        "```python3.11\n# shapes.py",
    ],
)
@pytest.mark.parametrize("deliverables", [ONE, TWO])
def test_a_file_is_found_by_its_path_in_every_style(opening: str, deliverables: tuple[str, ...]) -> None:
    closing = "~~~" if opening.startswith("~") else "```"
    given = files_in(f"Approach: plain.\n{opening}\n{CODE}\n{closing}\nDone.", deliverables)
    assert list(given.files) == ["shapes.py"]
    assert given.files["shapes.py"].endswith(CODE + "\n")
    assert given.faults == ()
    assert "Approach: plain." in given.prose
    assert "Done." in given.prose
    assert "def area" not in given.prose


def test_paths_without_a_suffix_or_with_a_space_are_found_where_the_contract_has_them() -> None:
    given = files_in("```make Makefile\nall:\n```\n```text my notes.txt\nhello\n```", ("Makefile", "my notes.txt"))
    assert given.files == {"Makefile": "all:\n", "my notes.txt": "hello\n"}


def test_windows_line_ends_become_plain_ones() -> None:
    given = files_in(f"```python shapes.py\n{CODE}\n```\n".replace("\n", "\r\n"), ONE)
    assert given.files == {"shapes.py": CODE + "\n"}


def test_several_files_are_told_apart() -> None:
    text = "```python shapes.py\na = 1\n```\ntext between\n```python src/solids.py\nb = 2\n```"
    assert files_in(text, TWO).files == {"shapes.py": "a = 1\n", "src/solids.py": "b = 2\n"}


def test_a_longer_fence_holds_shorter_ones() -> None:
    text = "````markdown notes.md\nUse:\n```bash\npip\n```\n````"
    assert files_in(text, ("notes.md",)).files == {"notes.md": "Use:\n```bash\npip\n```\n"}


def test_a_nested_fence_of_the_same_length_does_not_cut_the_file() -> None:
    text = "```markdown notes.md\n# Use\n```bash\npip\n```\nEnd of the file.\n```\nDone."
    given = files_in(text, ("notes.md",))
    assert given.files == {"notes.md": "# Use\n```bash\npip\n```\nEnd of the file.\n"}
    assert given.prose == "Done."


def test_a_fence_of_the_other_kind_closes_nothing() -> None:
    text = "~~~python shapes.py\na = '''\n```\n'''\n~~~"
    assert files_in(text, ONE).files == {"shapes.py": "a = '''\n```\n'''\n"}


@pytest.mark.parametrize(
    "text",
    [
        f"```python shapes.py\n{CODE}",
        f"```python\n{CODE}\n",
        f"```python shapes.py\n{CODE}\n```python src/solids.py\nb = 2\n```",
        "Sure.\n```",
    ],
)
def test_a_block_that_was_cut_off_is_told_and_is_no_file(text: str) -> None:
    given = files_in(text, ONE)
    assert given.files == {}
    assert len(given.faults) == 1
    assert "cut off" in given.faults[0]


def test_one_block_is_the_one_deliverable() -> None:
    assert files_in(f"Sure!\n```python\n{CODE}\n```\nHope it helps.", ONE).files == {"shapes.py": CODE + "\n"}
    assert files_in(f"```\n{CODE}\n```", ONE).files == {"shapes.py": CODE + "\n"}


def test_of_several_unnamed_blocks_the_longest_in_the_files_language_is_the_one_deliverable() -> None:
    output = "area(2, 3)\n" * 50
    text = (
        f"```bash\npip install {'x' * 900}\n```\n```python\n{CODE}\n```\n```python\nprint(1)\n```\n```text\n{output}```"
    )
    assert files_in(text, ONE).files == {"shapes.py": CODE + "\n"}


def test_a_block_in_another_language_is_not_taken_for_the_deliverable() -> None:
    assert files_in("Run this:\n```bash\npip install shapes\n```", ONE).files == {}
    assert files_in('```json\n{"verdict": "pass"}\n```', ONE).files == {}


def test_unnamed_blocks_are_nobodys_where_there_are_several_deliverables() -> None:
    given = files_in(f"```python\n{CODE}\n```\n```python\nb = 2\n```", TWO)
    assert given.files == {}


def test_a_line_names_one_block_and_not_the_output_behind_it() -> None:
    text = f"shapes.py\n```python\n{CODE}\n```\n\n```\n6\n```"
    assert files_in(text, ONE).files == {"shapes.py": CODE + "\n"}


def test_a_version_number_is_no_path() -> None:
    assert files_in(f"```python3.11\n# 2.0\n{CODE}\n```", ONE).files == {"shapes.py": f"# 2.0\n{CODE}\n"}


def test_another_file_beside_the_deliverable_does_not_lose_it() -> None:
    given = files_in(f"```python\n{CODE}\n```\n```python demo.py\nprint(area(2, 3))\n```", ONE)
    assert given.files == {"shapes.py": CODE + "\n", "demo.py": "print(area(2, 3))\n"}


@pytest.mark.parametrize(
    "path", ["../../etc/passwd.py", "/etc/cron.d/job.sh", "~/x.py", "a/../../b.py", ".git/hooks/x.sh"]
)
def test_a_path_that_leaves_the_tree_keeps_its_name_to_be_refused_by_it(path: str) -> None:
    """It must not become the deliverable: what was meant for elsewhere is no answer to the contract."""
    call = json.dumps({"name": "write_file", "arguments": {"path": path, "content": CODE}})
    for text in (f"```python {path}\n{CODE}\n```", f"`{path}`\n```python\n{CODE}\n```", f"```json\n{call}\n```"):
        given = files_in(text, ONE)
        assert "shapes.py" not in given.files
        assert set(given.files) <= {path}


CALL = json.dumps({"name": "write_file", "arguments": {"path": "shapes.py", "content": CODE}}, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL}\n```",
        f"```json\n{CALL}\n```" + "\n" * 4_000,
        f"```json\n{CALL}\n" + "\n" * 4_000,
        CALL,
        f"{CALL}\n\n\n",
        f"```tool_call\n{CALL.replace('arguments', 'input')}\n```",
        f"```json\n{CALL.replace('arguments', 'parameters')}\n```",
        f"```json\n{json.dumps({'name': 'write_file', 'arguments': json.dumps(json.loads(CALL)['arguments'])})}\n```",
        f"```json\n{json.dumps({'tool': 'write_file', 'path': './shapes.py', 'content': CODE})}\n```",
        "```json\n" + CALL.replace("\\n", "\n") + "\n```",
    ],
)
@pytest.mark.parametrize("deliverables", [ONE, TWO])
def test_a_write_file_call_in_json_is_a_file(text: str, deliverables: tuple[str, ...]) -> None:
    assert files_in(text, deliverables).files == {"shapes.py": CODE + "\n"}


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL[:60]}\n```",
        f"```json\n{CALL[:60]}",
        CALL[:60],
        '```json\n{"name": "write_file", "arguments": {"path": "shapes.py", "content": """x"""}}\n```',
        '```json\n{"name": "write_file", "arguments": {"path": "shapes.py"}}\n```',
        '```json\n{"name": "write_file", "arguments": 7}\n```',
    ],
)
def test_a_write_file_call_that_cannot_be_read_is_told_and_never_written_as_the_file(text: str) -> None:
    given = files_in(text, ONE)
    assert given.files == {}
    assert "write_file call cannot be read" in given.faults[0]


def test_an_empty_block_is_an_empty_file() -> None:
    assert files_in("```python pkg/__init__.py\n```", ("pkg/__init__.py",)).files == {"pkg/__init__.py": ""}


def test_a_reply_without_a_block_is_a_work_log() -> None:
    given = files_in("I would write it like this.", ONE)
    assert (given.files, given.prose, given.faults) == ({}, "I would write it like this.", ())


def test_a_file_in_two_blocks_that_differ_is_told_and_an_empty_one_takes_nothing_away() -> None:
    twice = "```python a.py\nx = 1\n```\n```python a.py\ny = 2\n```\n"
    assert files_in(twice, ("a.py",)).faults == ("the file a.py stands in two blocks that differ",)
    empty = "```python a.py\nx = 1\n```\n```python a.py\n```\n"
    assert files_in(empty, ("a.py",)).files == {"a.py": "x = 1\n"}
    assert files_in(empty, ("a.py",)).faults == ()


def test_a_block_under_a_list_item_loses_the_items_indent_and_no_more() -> None:
    reply = "- **Work:**\n  ```python a.py\n  def f():\n      return 1\n\n  ```\n- done\n"
    assert files_in(reply, ("a.py",)).files == {"a.py": "def f():\n    return 1\n"}
    deep = "1. one\n    - two\n\n        ```python a.py\n        x = 1\n        ```\n"
    assert files_in(deep, ("a.py",)).files == {"a.py": "x = 1\n"}


def test_a_fence_in_an_indented_docstring_does_not_end_the_file() -> None:
    code = 'def f():\n    """Use it:\n\n    ```\n    f()\n    ```\n    """\n'
    assert files_in(f"```python a.py\n{code}```\n", ("a.py",)).files == {"a.py": code}


def test_a_path_alone_on_the_first_line_is_no_code() -> None:
    assert files_in("```python\na.py\nx = 1\n```\n", ("a.py",)).files == {"a.py": "x = 1\n"}
