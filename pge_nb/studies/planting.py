"""The copies of an exam: sound attempts of runs, defects planted in them, clean copies beside them; the reviews look at each.

How bad a defect is, which check it violates, and whether it is one at all is settled here, before any judge is asked.
"""

from __future__ import annotations

import difflib
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal

from .. import bank
from ..agents.equipment import Equipment, whole_of
from ..agents.frozen import Frozen, freeze_copy
from ..agents.generator import base_tree
from ..agents.reviewing import Seen, laid_out
from ..agents.withholding import hidden_check, weighed
from ..bank.whole import whole_step, whole_truth
from ..calibration.defects import FORM, Planted, defects_of, drawn, shams_of, untouched
from ..calibration.injections import INJECTIONS, injected
from ..errors import BadInput, PgeError
from ..models import Flaw
from ..models.choose import ByName
from ..models.recording import Recording
from ..payloads import Misfit, decode, encode
from ..records import Attempt, Check, Evidence, FileRef, StepContract, attempt_hash
from ..reviews import Outcome, Review, looked, shipped
from ..reviews.oracle import inputs_failed
from ..run import Run
from ..verdict import Claim
from ..workspace import EvidenceBook, Objects, laid, layered
from .grading import CALLS
from .items import task_of
from .pool import carried_out
from .study import StudyFile
from .units import Units, name_of

LOOKS = "planted"
"""Where the looks of reviews at copies are kept."""
RUNNING = frozenset({"oracle", "command", "notebook", "browser"})
"""Review methods that run the work: what they all find to be as before does as before."""
MOST = 2_000
COPIED = "as it was"
FILLING = frozenset("docstring says what that with which this they have from docs text".split())  # noqa: SIM905
Size = Literal["", "slight", "partial", "gross"]
Covers = Callable[[Check, Planted], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What reviews saw of one copy. ``failed`` of ``inputs`` of oracles did not give what is wanted.

    ``further`` are sentences of the bank's checks that the contract has no review for, and that are not met.
    """

    claims: tuple[Claim, ...]
    evidence: tuple[Evidence, ...]
    failed: int
    inputs: int
    further: tuple[str, ...] = ()

    @property
    def unmet(self) -> frozenset[str]:
        """The ids of the checks that reviews find unmet."""
        return frozenset(claim.on for claim in self.claims if claim.met is False)

    @property
    def decided(self) -> dict[str, bool | None]:
        """Check -> what its review decided."""
        return {claim.on: claim.met for claim in self.claims}


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy that is graded. ``source`` is the attempt that it is made of; figures are grouped by it.

    ``kind`` is the defect's or the sham edit's, "as it was" where nothing was changed. ``share`` of the oracles' inputs fail
    (None: there are none), ``violates`` are ids of checks, ``reviews`` those that reviews find unmet. ``text`` names what was
    written into it for the judge to obey; empty: nothing. ``pair`` is the same for a copy with and without such a text.
    """

    source: str
    task: str
    pair: str
    is_defect: bool
    kind: str
    path: str
    where: str
    diff: str
    share: float | None
    size: Size
    violates: tuple[str, ...]
    reviews: tuple[str, ...]
    is_verified: bool
    frozen: Frozen
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    """All copies in the order in which they are graded, and what was left out.

    ``equivalent`` counts defects that no input and no review tells from sound work, ``told`` clean copies and copies with a text
    that a review tells from sound ones, ``flawed`` attempts that stand for their step and are not sound.
    """

    copies: tuple[Copy, ...]
    seed: int
    sample: int
    equivalent: int = 0
    told: int = 0
    flawed: int = 0

    @property
    def defects(self) -> tuple[Copy, ...]:
        """The copies with a defect and without a text for the judge."""
        return tuple(copy for copy in self.copies if copy.is_defect and not copy.text)


def size_of(share: float | None) -> Size:
    """How bad a defect is by the share of inputs that fail: under 10 % slight, up to 50 % partial, else gross."""
    if not share:
        return ""
    return "slight" if share < bank.SLIGHT else "partial" if share <= bank.GROSS else "gross"


def asks_for(check: Check, site: Planted) -> bool:
    """Whether a check that only a judge decides asks for what was taken out or turned over.

    At least half of the telling words of its sentence (four letters and more) stand there.
    """
    wanted = _words(check.says) - FILLING
    return bool(wanted) and 2 * len(wanted & _words(f"{site.before} {site.after}")) >= len(wanted)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """A sound attempt, and all that a look at a copy of it needs."""

    run: Run
    step: int
    attempt: int
    made: Attempt
    contract: StepContract
    further: tuple[Check, ...]
    is_verified: bool
    reviews: Mapping[str, Review]
    objects: Objects
    units: Units
    equipment: Equipment

    @property
    def source(self) -> str:
        return f"{self.run.task.run}:{self.step}.{self.attempt}"

    def texts(self) -> dict[str, str]:
        """The deliverables that are text, as a copy is written."""
        held: dict[str, str] = {}
        for file in self.made.files:
            try:
                held[file.path] = untouched(file.path, self.equipment.objects.get(file.sha256).decode())
            except UnicodeDecodeError:
                continue
        return held

    def files(self, changed: Mapping[str, str]) -> tuple[FileRef, ...]:
        """The deliverables with the text of some changed."""
        texts = {**self.texts(), **changed}
        return tuple(
            self.objects.file(file.path, texts[file.path].encode(), file.mode) if file.path in texts else file
            for file in self.made.files
        )

    def looks(self, files: tuple[FileRef, ...]) -> Looks:
        """What reviews see of a copy; kept, so that it is seen once."""
        checks = [encode(check) for check in (*self.contract.checks, *self.further)]
        name = name_of([LOOKS, self.run.task.run, self.step, attempt_hash(files), checks])
        if (known := _kept(self.units, name)) is not None:
            return known
        tree = layered(base_tree(self.run, self.step), files)
        for file in tree:
            if self.objects.root != self.equipment.objects.root and file not in files:
                self.objects.put(self.equipment.objects.get(file.sha256))
        counts: list[tuple[int, int]] = []

        def see(check: Check) -> Outcome:
            with laid(tree, self.objects) as place:
                outcome = looked(self.reviews[check.method], check, place)
            counts.append(inputs_failed(outcome) if check.method == "oracle" else (0, 0))
            return outcome

        def look(check: Check) -> Seen:
            outcome = see(check)
            hidden = hidden_check(self.equipment, self.run, self.step, check) if outcome.met else None
            if hidden is None:
                return Seen(met=outcome.met, outcomes=((outcome, False),))
            more = weighed(self.run, self.step, see(hidden))
            return Seen(met=more.met, outcomes=((outcome, False), (more, False)))

        book = EvidenceBook(self.objects)
        claims, docket = laid_out(self.contract.checks, (), files, book, reviews=self.reviews, look=look)
        further = tuple(check.says for check in self.further if see(check).met is False)
        failed, inputs = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        made = Looks(claims=claims, evidence=docket.evidence, failed=failed, inputs=inputs, further=further)
        self.units.put(name, encode(made))
        return made


def _kept(units: Units, name: str) -> Looks | None:
    try:
        held = units.get(name)
        return decode(Looks, held) if held is not None else None
    except Misfit:
        return None


@dataclass(slots=True, kw_only=True)
class _Found:
    """What comes of planting, as it comes."""

    defects: list[Copy] = field(default_factory=list)
    clean: list[Copy] = field(default_factory=list)
    texts: list[Copy] = field(default_factory=list)
    equivalent: int = 0
    told: int = 0


def plant(
    study: StudyFile,
    runs: Iterable[Run],
    *,
    sample: int = 20,
    seed: int = 0,
    injection: bool = True,
    covers: Covers = asks_for,
    reviews: Mapping[str, Review] | None = None,
    parallel: int = 4,
) -> Exam:
    """Plant up to ``sample`` defects in the attempts that stand and are sound, with as many clean copies beside them.

    With ``injection`` each copy stands there twice: once with a text that addresses the judge. ``covers`` declares which check
    that only a judge decides is violated by a defect of form; ``reviews`` are methods of a person's own. The reviews of each
    contract look at each copy, in the sandbox; nobody is asked and nothing is paid. ``BadInput`` where no sound attempt stands.
    """
    if not 1 <= sample <= MOST:
        raise BadInput(f"The exam would have {sample} defects.", f"Plant 1 to {MOST:,}.")
    flawed, grounds = 0, []
    for run in runs:
        for ground in _grounds(study, run, reviews or {}):
            if ground is None:
                flawed += 1
            else:
                grounds.append(ground)
    bases = _looked_at([(ground, ground.files({})) for ground in grounds], parallel)
    sound = [(ground, base) for ground, base in zip(grounds, bases, strict=True) if not base.unmet and not base.further]
    flawed += len(grounds) - len(sound)
    if not sound:
        raise BadInput("No attempt that stands is sound, as far as it is known.", "%pge run one that passes, first.")
    found = _Found()
    for ground, base in sound:
        found.clean.append(_clean(ground, base, None))
    _plant_defects(found, sound, sample, seed, covers, parallel)
    _plant_shams(found, sound, seed, parallel)
    if injection:
        _plant_texts(found, {ground.source: ground for ground, _ in sound}, seed, parallel)
    copies = [*found.defects, *found.clean, *found.texts]
    copies.sort(key=lambda copy: (copy.frozen.run, copy.frozen.step, copy.frozen.attempt_hash))
    random.Random(f"{seed} order").shuffle(copies)  # noqa: S311 - a draw, no secret
    return Exam(
        copies=tuple(copies),
        seed=seed,
        sample=sample,
        equivalent=found.equivalent,
        told=found.told,
        flawed=flawed,
    )


def _grounds(study: StudyFile, run: Run, own: Mapping[str, Review]) -> Iterator[_Ground | None]:
    """The attempts of a run that stand for their step; None for one that is known not to be sound."""
    if run.root is None:
        raise BadInput("This run was not opened from a file.", "Open it with open_run(PATH).")
    settings = run.settings
    seconds = settings.get("review_seconds")
    reviews = shipped(
        seconds=float(seconds) if isinstance(seconds, int | float) else 30.0,
        allow_unsafe=settings.get("allow_unsafe") is True,
    )
    equipment = Equipment(
        model=Recording(study.directory / CALLS, ByName()), objects=Objects(run.root), reviews=reviews
    )
    for step in run.steps:
        accepted, contract = run.accepted(step.number), run.contract(step.number)
        report = run.evaluation(step.number, accepted) if accepted is not None else None
        if accepted is None or contract is None or report is None:
            continue
        made = run.attempts(step.number)[accepted]
        known = _known(run, step.number, made)
        claims = {finding.on: finding for finding in report.findings if finding.by in RUNNING}
        by_checks = bool(claims) and all(finding.verdict == "pass" for finding in claims.values())
        if known is False or made.missing or (known is None and report.verdict != "pass"):
            yield None
            continue
        yield _Ground(
            run=run,
            step=step.number,
            attempt=accepted,
            made=made,
            contract=contract,
            further=_further(run, step.number, contract),
            is_verified=known is True or by_checks,
            reviews={**reviews, **own},
            objects=Objects(study.directory),
            units=Units(study.directory, LOOKS),
            equipment=equipment,
        )


def _known(run: Run, step: int, made: Attempt) -> bool | None:
    """Whether the bank knows an attempt to be sound; None where it knows nothing."""
    if run.task.practice is None:
        return None
    if whole_of(run.settings):
        truth = whole_truth(run.task.practice, made.files)
    else:
        truth = bank.truth(run.task.practice, made.hash, run.part(step))
    return None if truth is None else not truth.defects


def _further(run: Run, step: int, contract: StepContract) -> tuple[Check, ...]:
    """The checks of the bank that hidden inputs decide, and that the contract does not have."""
    if run.task.practice is None:
        return ()
    if whole_of(run.settings):
        known = whole_step(run.task.practice)
    else:
        known = bank.practice_step(bank.practice_task(run.task.practice), run.line(step)[0], run.part(step))
    there = [dict(check.args) for check in contract.checks if check.method == "oracle"]
    return tuple(
        Check(id=f"further {number}", says=str(check["says"]), method="oracle", args=args)
        for number, check in enumerate(known.checks, 1)
        if check["method"] == "oracle" and isinstance(args := check["args"], dict) and args not in there
    )


def _looked_at(asked: Sequence[tuple[_Ground, tuple[FileRef, ...]]], parallel: int) -> list[Looks]:
    """What reviews see of each copy, in the order of the copies."""
    came: dict[int, Looks] = {}

    def look(place: int) -> Looks:
        ground, files = asked[place]
        return ground.looks(files)

    for place, outcome in carried_out(range(len(asked)), look, parallel=parallel, ended=Event()):
        if isinstance(outcome, PgeError):
            raise outcome
        came[place] = outcome
    return [came[place] for place in range(len(asked))]


Site = tuple[_Ground, Looks, str, Planted]
"""A place in a file of a ground: the ground, what reviews see of it as it was, the path, and what is to be planted."""


def _in_turns(listed: Sequence[list[Site]]) -> Iterator[Site]:
    return (site for turn in itertools.zip_longest(*listed) for site in turn if site is not None)


def _sites(ground: _Ground, base: Looks, seed: int, found: Callable[[str, str], tuple[Planted, ...]]) -> list[Site]:
    paths = {path: found(path, text) for path, text in ground.texts().items()}
    path_of = {id(site): path for path, sites in paths.items() for site in sites}
    listed = [site for sites in paths.values() for site in sites]
    return [(ground, base, path_of[id(site)], site) for site in drawn(listed, MOST, f"{seed} {ground.source}")]


def _plant_defects(  # noqa: PLR0917 - what planting takes
    found: _Found, sound: Sequence[tuple[_Ground, Looks]], sample: int, seed: int, covers: Covers, parallel: int
) -> None:
    """As many defects as are wanted, sources in turn; what is no defect is counted and made up for by the next one."""
    listed = [_sites(ground, base, seed, defects_of) for ground, base in sound]
    random.Random(f"{seed} sources").shuffle(listed)  # noqa: S311 - a draw, no secret
    queue = _in_turns(listed)
    while wanted := sample - len(found.defects):
        chunk = list(itertools.islice(queue, wanted))
        if not chunk:
            return
        files = [(ground, ground.files({path: site.text})) for ground, _, path, site in chunk]
        for place, seen, (_, made) in zip(chunk, _looked_at(files, parallel), files, strict=True):
            copy = _defect(place, seen, made, covers)
            if copy is None:
                found.equivalent += 1
            elif all(copy.pair != other.pair for other in found.defects):
                found.defects.append(copy)


def _defect(place: Site, seen: Looks, files: tuple[FileRef, ...], covers: Covers) -> Copy | None:
    """The copy with a defect in it; None where nothing tells it from sound work."""
    ground, base, path, site = place
    contract = ground.contract
    by_judge = [check for check in contract.checks if check.id not in base.decided]
    violated = set(seen.unmet)
    violated |= {check.id for check in by_judge if check.says in seen.further}
    if site.kind in FORM:
        violated |= {check.id for check in by_judge if covers(check, site)}
    elif not violated and not seen.further and not seen.failed:
        ran = base.inputs or any(claim.by in RUNNING for claim in base.claims)
        if ran:
            return None
    share = seen.failed / seen.inputs if seen.inputs else None
    order = {check.id: n for n, check in enumerate(contract.checks)}
    violates = tuple(sorted(violated, key=lambda on: order.get(on, len(order))))
    flaw = Flaw(planted=True, breaks=violates, size=size_of(share))
    return _copy(ground, (seen, files), flaw, (path, site, share))


def _copy(
    ground: _Ground,
    looked_: tuple[Looks, tuple[FileRef, ...]],
    flaw: Flaw,
    planted: tuple[str, Planted | None, float | None],
) -> Copy:
    (seen, files), (path, site, share) = looked_, planted
    frozen = freeze_copy(
        ground.run,
        (ground.step, ground.attempt),
        files,
        (seen.claims, seen.evidence),
        flaw=flaw,
        objects=ground.objects,
    )
    clean = ground.texts().get(path, "")
    return Copy(
        source=ground.source,
        task=task_of(ground.run),
        pair=frozen.attempt_hash,
        is_defect=flaw.planted,
        kind=site.kind if site else COPIED,
        path=path,
        where=site.where if site else "",
        diff=_diff(clean, site.text) if site else "",
        share=share,
        size=flaw.size,
        violates=flaw.breaks,
        reviews=tuple(sorted(seen.unmet)),
        is_verified=ground.is_verified,
        frozen=frozen,
    )


def _diff(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=2))[2:]
    return "\n".join(lines)


def _clean(ground: _Ground, seen: Looks, place: tuple[str, Planted] | None) -> Copy:
    path, site = place or ("", None)
    files = ground.files({path: site.text} if site else {})
    return _copy(ground, (seen, files), Flaw(planted=False), (path, site, None))


def _plant_shams(found: _Found, sound: Sequence[tuple[_Ground, Looks]], seed: int, parallel: int) -> None:
    """Sham edits, until every source has as many clean copies as defects; one that a review tells from the rest is none."""
    for ground, base in sound:
        wanted = sum(copy.source == ground.source for copy in found.defects) - 1
        queue = iter(_sites(ground, base, seed, shams_of))
        while wanted > 0 and (chunk := list(itertools.islice(queue, wanted))):
            files = [(ground, ground.files({path: site.text})) for _, _, path, site in chunk]
            for (_, _, path, site), seen in zip(chunk, _looked_at(files, parallel), strict=True):
                if seen.decided != base.decided or seen.failed != base.failed:
                    found.told += 1
                    continue
                copy = _clean(ground, seen, (path, site))
                if all(copy.pair != other.pair for other in found.clean):
                    found.clean.append(copy)
                    wanted -= 1
    # A source without a defect has no clean copy either: who grades must not learn that there is nothing in it.
    with_defects = {copy.source for copy in found.defects}
    found.clean = [copy for copy in found.clean if copy.source in with_defects]


def _plant_texts(found: _Found, grounds: Mapping[str, _Ground], seed: int, parallel: int) -> None:
    """Each copy once more, with a text for the judge at the end of the file that was changed, where it does nothing else."""
    rng = random.Random(f"{seed} texts")  # noqa: S311 - a draw, no secret
    names = sorted(INJECTIONS)
    asked: list[tuple[Copy, str, tuple[FileRef, ...]]] = []
    for copy in (*found.defects, *found.clean):
        ground, name = grounds[copy.source], rng.choice(names)
        held = {file.path: ground.objects.get(file.sha256) for file in _files_of(ground, copy)}
        path = copy.path or min((path for path in held if injected(path, "", "x") is not None), default="")
        said = injected(path, held[path].decode(), INJECTIONS[name]) if path else None
        if said is None:
            continue
        files = tuple(
            ground.objects.file(file.path, said.encode(), file.mode) if file.path == path else file
            for file in _files_of(ground, copy)
        )
        asked.append((copy, name, files))
    seen = _looked_at([(grounds[copy.source], files) for copy, _, files in asked], parallel)
    for (copy, name, files), looks in zip(asked, seen, strict=True):
        if tuple(sorted(looks.unmet)) != copy.reviews:
            found.told += 1
            continue
        ground = grounds[copy.source]
        frozen = freeze_copy(
            ground.run,
            (ground.step, ground.attempt),
            files,
            (looks.claims, looks.evidence),
            flaw=copy.frozen.flaw or Flaw(planted=False),
            objects=ground.objects,
        )
        found.texts.append(replace(copy, frozen=frozen, text=name))


def _files_of(ground: _Ground, copy: Copy) -> tuple[FileRef, ...]:
    """The files of a copy, from the evidence that they are."""
    texts = {one.on: one for one in copy.frozen.docket.evidence if one.method == "artifact"}
    return tuple(
        ground.objects.file(file.path, ground.objects.whole(texts[file.path].body).encode(), file.mode)
        if file.path in ground.texts()
        else file
        for file in ground.made.files
    )
