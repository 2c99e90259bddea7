"""Labelling by keys: what each line that a person types does, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from front_end import VIEW, FrontEnd, front_end
from sanitizer import read

from pge_nb.errors import BadInput
from pge_nb.widgets.label import Label, Labelling, ToLabel

ITEMS = tuple(ToLabel(id=f"i{number}", question=f"Is {number} even?", text=str(number)) for number in range(4))


class Kept:
    """Keeps labels as a study would, and fails where it is told to."""

    def __init__(self) -> None:
        self.labels: dict[str, Label] = {}
        self.full = False
        self.tells: str | None = None

    def give(self, label: Label) -> str | None:
        if self.full:
            raise OSError("no space left")
        self.labels[label.id] = label
        return self.tells

    def take_back(self, item: str) -> None:
        if self.full:
            raise OSError("no space left")
        del self.labels[item]

    @property
    def verdicts(self) -> dict[str, str]:
        return {name: label.verdict for name, label in self.labels.items()}


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def labelling(kept: Kept) -> Labelling:
    return Labelling(items=ITEMS, give=kept.give, take_back=kept.take_back)


def now(labelling: Labelling) -> str | None:
    return labelling.item.id if labelling.item else None


def test_a_letter_is_a_verdict_and_words_behind_it_a_note(labelling: Labelling, kept: Kept) -> None:
    assert [labelling.typed(line) for line in ("p", " F ", "u  who knows, really ")] == [True] * 3
    assert kept.verdicts == {"i0": "pass", "i1": "fail", "i2": "unclear"}
    assert [label.note for label in kept.labels.values()] == ["", "", "who knows, really"]
    assert (now(labelling), labelling.progress, labelling.over) == ("i3", "3 of 4", False)


@pytest.mark.parametrize("line", ["", " ", "x", "pf", "dd", "pass", "yes it holds", "0"])
def test_a_line_that_is_none_stays_in_the_field_and_changes_nothing(
    line: str, labelling: Labelling, kept: Kept
) -> None:
    assert labelling.typed(line) is False
    assert (kept.labels, now(labelling)) == ({}, "i0")
    assert labelling.says


def test_undo_takes_back_one_after_another_and_no_more_than_was_given(labelling: Labelling, kept: Kept) -> None:
    for line in ("p", "f", "undo"):
        labelling.typed(line)
    assert (kept.verdicts, now(labelling)) == ({"i0": "pass"}, "i1")
    labelling.typed("undo")
    labelling.typed("undo")
    assert (kept.verdicts, now(labelling)) == ({}, "i0")
    assert labelling.says == "There is nothing to take back."


def test_a_label_that_could_not_be_kept_is_told_and_asked_for_again(labelling: Labelling, kept: Kept) -> None:
    kept.full = True
    assert labelling.typed("p it was long to write") is False, "the note is still in the field"
    assert labelling.says == "Nothing was changed: OSError: no space left"
    assert (now(labelling), labelling.labels) == ("i0", {})
    kept.full = False
    assert labelling.typed("p")
    kept.full = True
    assert labelling.typed("undo") is False
    assert labelling.labels.keys() == {"i0"}


def test_what_comes_of_a_label_is_told_once_it_is_given(labelling: Labelling, kept: Kept) -> None:
    kept.tells = "the judge said fail"
    labelling.typed("p")
    assert labelling.says == "pass: the judge said fail"


def test_stop_ends_it_and_it_goes_on_where_it_was(labelling: Labelling, kept: Kept) -> None:
    labelling.typed("p")
    labelling.typed("stop")
    assert labelling.over
    view = labelling.view("Evenness")
    assert view.title == "Evenness: 1 of 4 labelled"
    assert view.notes == ("Run this cell again to go on.",)
    again = Labelling(items=ITEMS, give=kept.give, take_back=kept.take_back, given={"i0": "pass"})
    assert (now(again), again.progress) == ("i1", "1 of 4")
    again.typed("undo")
    assert now(again) == "i1", "what was given another time is not taken back by a slip"


def test_save_tells_where_the_work_is_and_changes_no_label(kept: Kept) -> None:
    labelling = Labelling(items=ITEMS, give=kept.give, take_back=kept.take_back, save=lambda: "Saved: work.zip")
    labelling.typed("p")
    assert labelling.typed("save")
    assert labelling.says == "Saved: work.zip"
    assert (kept.verdicts, now(labelling)) == ({"i0": "pass"}, "i1")
    without = Labelling(items=ITEMS, give=kept.give, take_back=kept.take_back)
    assert not without.typed("save")


def test_the_last_label_ends_it_and_every_label_stands_in_the_view(labelling: Labelling, kept: Kept) -> None:
    kept.tells = None
    for line in ("p", "f <b>no</b>", "u", "f"):
        labelling.typed(line)
    assert labelling.over
    view = labelling.view("Evenness")
    assert view.df is not None
    assert list(view.df["verdict"]) == ["pass", "fail", "unclear", "fail"]
    assert "<b>no</b>" not in view.html().replace("<b dir", "")
    assert read(view.html()).stripped == []
    assert view.notes == ()


def test_how_long_a_person_took_is_kept(labelling: Labelling, kept: Kept) -> None:
    labelling.shown_at -= 12.0
    labelling.typed("p")
    labelling.typed("f")
    assert [round(label.seconds) for label in kept.labels.values()] == [12, 0]


def test_an_item_that_is_there_twice_is_refused(kept: Kept) -> None:
    with pytest.raises(BadInput, match="'i0' is there twice"):
        Labelling(items=[ITEMS[0], ITEMS[0]], give=kept.give, take_back=kept.take_back)


# In a kernel, as a page talks to it

OPEN = """
from pge_nb.widgets.label import ToLabel, label
got = []
items = [ToLabel(id=str(n), question="Is it?", text="<script>it is</script>") for n in range(3)]
shown = label(items, got.append, lambda item: got.pop(), title="Three")
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    with front_end(tmp_path_factory.mktemp("labels")) as opened:
        yield opened


def typed(page: FrontEnd, text: str) -> None:
    """Enter, and then what was typed: the order in which a page sends them."""
    [field] = page.named("TextModel")
    page.tell(field, {"method": "custom", "content": {"event": "submit"}})
    page.tell(field, {"method": "update", "state": {"value": text}, "buffer_paths": []})


def got(page: FrontEnd) -> str:
    return page.run("print(*(f'{one.id}{one.verdict}' for one in got))").text.strip()


def test_on_a_page_lines_are_taken_when_enter_came_and_a_field_that_is_left_enters_nothing(page: FrontEnd) -> None:
    opened = page.run(OPEN)
    [display] = opened.of("display_data")
    assert "was under way" in display["data"]["text/html"]
    assert VIEW in display["data"]
    states = [content["data"]["state"] for content in opened.of("comm_open")]
    assert not any("<script>" in str(state.get("value")) for state in states)
    [field] = page.named("TextModel")
    page.tell(field, {"method": "update", "state": {"value": "p"}, "buffer_paths": []})  # clicked elsewhere
    assert got(page) == ""
    page.tell(field, {"method": "custom", "content": {"event": "submit"}})  # come back, and Enter alone
    page.run("import asyncio; await asyncio.sleep(0.6)")
    assert got(page) == "0pass"
    typed(page, "f")
    typed(page, "undo")
    typed(page, "u")
    assert got(page) == "0pass 1unclear"
    typed(page, "p")
    assert got(page) == "0pass 1unclear 2pass"
    assert page.run("from ipywidgets.widgets import widget; print(len(widget._instances))").text == "0\n"


def test_where_all_are_labelled_there_is_no_field(page: FrontEnd) -> None:
    ran = page.run(f"{OPEN}shown = label(items, print, print, given=dict.fromkeys('012', 'pass')); shown")
    assert "3 of 3 labelled" in ran.of("execute_result")[0]["data"]["text/plain"]
