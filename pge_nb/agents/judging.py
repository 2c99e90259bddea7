"""The judge call of an evaluation: how the artifacts are laid before the judge, and how its reply becomes claims."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..models import NONCE
from ..payloads import Json, compact
from ..records import Attempt, Check, Criterion, Evidence, FileRef
from ..verdict import JUDGE, Claim, faults, folded, meant, usable_score
from ..workspace import Objects
from .replies import Unusable, json_alone

EVIDENCE_BUDGET = 120_000
"""Characters of evidence in one judge call, shared by all; what is cut is marked."""
DIFF_BUDGET = 8_000
LOOKALIKE = re.compile(r"<(\s*/?\s*)(artifact|evidence|diff)\b", re.IGNORECASE)
NEUTRALISED = re.compile(r"<(\s*/?\s*)_(artifact|evidence|diff)\b", re.IGNORECASE)
NEUTRAL_NONCE = NONCE.replace("-", "_")
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,20})?")
SEPARATORS = re.compile(r"[,;\s，；、،؛「」]+")  # noqa: RUF001 - commas of other scripts
MAX_DIFF_LINES = 20_000
"""Of one file, before and after: comparing takes time that grows with the square."""
MAX_SAYS = 2_000
MAX_CITED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """What one judge call is about: the checks left undecided, the criteria, and the evidence that was issued."""

    checks: tuple[Check, ...]
    criteria: tuple[Criterion, ...]
    evidence: tuple[Evidence, ...]
    texts: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """Everything that the judge must give a finding on."""
        return [check.id for check in self.checks] + [criterion.name for criterion in self.criteria]

    def without(self, ids: Collection[str]) -> Docket:
        """The docket less the checks and criteria of these ids."""
        checks = tuple(check for check in self.checks if check.id not in ids)
        return replace(self, checks=checks, criteria=tuple(one for one in self.criteria if one.name not in ids))


def neutral(text: str) -> str:
    """Text of an artifact with everything that looks like the marks around it made harmless."""
    return LOOKALIKE.sub(r"<\1_\2", text).replace(NONCE, NEUTRAL_NONCE)


def laid_before(docket: Docket, every_check: Sequence[Check], diff: str) -> str:
    """The brief of the judge: contract, criteria, evidence between marks that carry the evaluation's nonce."""
    decided = [check for check in every_check if check not in docket.checks]
    parts = ["The checks that you decide:", *_listed(docket.checks)]
    if decided:
        parts += ["These were looked at by the harness; their outcomes are evidence below:", *_listed(decided)]
    if docket.criteria:
        parts += ["The criteria that you score:", *(f"- {c.name}: {neutral(c.description)}" for c in docket.criteria)]
    for evidence in docket.evidence:
        tag = "artifact" if evidence.method == "artifact" else "evidence"
        text = neutral(docket.texts[evidence.id]).rstrip()
        on = neutral(evidence.on).replace('"', "'")
        about = f'path="{on}"' if tag == "artifact" else f'of="{on}"'
        parts.append(f'<{tag} id="{evidence.id}" {about} mark="{NONCE}">\n{text}\n</{tag} mark="{NONCE}">')
    if diff:
        parts.append(
            f'What changed since the last attempt:\n<diff mark="{NONCE}">\n{neutral(diff)}\n</diff mark="{NONCE}">'
        )
    parts.append(f"Give a finding on each of: {', '.join(docket.ids)}.\n{shape(docket)}")
    return "\n\n".join(parts)


def shape(docket: Docket, only: Collection[str] | None = None) -> str:
    """The shape of the reply with the ids filled in: a weak model keeps to what it can copy.

    Nothing in it is a usable verdict, score or piece of evidence, so that what is copied along can decide nothing.
    """
    # Who could not copy a line when asked for one will paraphrase again; the id alone is evidence too.
    quote = "<one line of it>" if only is None else ""
    cited = f'"says": "<what you saw>", "evidence": ["<id>"], "quote": "{quote}"'
    decisive = [(check.id, '"verdict": "<pass or fail>"') for check in docket.checks]
    # Without quotation marks: a model that copies them would give its scores as text, which are no scores.
    decisive += [(criterion.name, '"score": <number from 0 to 10>') for criterion in docket.criteria]
    wanted = [f'{{"on": {compact(on)}, {cited}, {word}}}' for on, word in decisive if only is None or on in only]
    listed = ",\n".join(wanted)
    return f'Reply with one JSON object of exactly this shape, no text around it:\n{{"findings": [\n{listed}\n]}}'


def shared_out(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of evidence as the judge is shown them: the long ones cut so that all together keep to the budget.

    Only what was shown can be quoted, so these are also the texts that quotes are looked up in.
    """
    left, shown = EVIDENCE_BUDGET, {}
    for number, (name, text) in enumerate(sorted(texts.items(), key=lambda item: len(item[1]))):
        shown[name] = _cut(text, left // (len(texts) - number))
        left -= min(len(text), left // (len(texts) - number))
    return {name: shown[name] for name in texts}


def _listed(checks: Sequence[Check]) -> list[str]:
    return [f"- {check.id}: {neutral(check.says)}" for check in checks] or ["- (none)"]


def _cut(text: str, budget: int) -> str:
    return text if len(text) <= budget else f"{text[:budget]}\n[cut: {len(text) - budget} more characters]"


def difference(old: Attempt | None, new: Attempt, objects: Objects) -> str:
    """A unified diff of the deliverables of two attempts, cut to a budget; empty where there is no earlier one."""
    if old is None:
        return ""
    before, after = _texts(old.files, objects), _texts(new.files, objects)
    lines: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        left, right = before.get(path, "").split("\n"), after.get(path, "").split("\n")
        if len(left) + len(right) > MAX_DIFF_LINES:
            lines.append(f"[{path} is too long to be compared: {len(left)} lines before, {len(right)} after]")
        else:
            lines += difflib.unified_diff(left, right, f"before/{path}", f"after/{path}", lineterm="")
    return _cut("\n".join(lines), DIFF_BUDGET)


def _texts(files: Sequence[FileRef], objects: Objects) -> dict[str, str]:
    return {file.path: objects.get(file.sha256).decode("utf-8", "replace") for file in files}


def read_claims(text: str, docket: Docket) -> list[Claim]:
    """The judge's claims on what it was asked about. ``Unusable`` where the reply is no JSON with a list of findings."""
    listed = json_alone(text).get("findings")
    if not isinstance(listed, list):
        raise Unusable('there is no list "findings"')
    scored = {criterion.name for criterion in docket.criteria}
    return [
        _claim(item, on, docket, scored=on in scored)
        for item in listed
        if isinstance(item, dict) and (on := _same(item.get("on"), docket.ids)) in docket.ids
    ]


def _same(said: Json, known: Collection[str]) -> str:
    return meant(said.strip() if isinstance(said, str) else f"{said}", known)


def _cited(given: Json, known: Collection[str]) -> tuple[str, ...]:
    """The ids of evidence that a finding cites: a list of them, of objects with an id, or one line of text."""
    if isinstance(given, str):
        given = [word for word in SEPARATORS.split(given) if word]
    if not isinstance(given, list):
        return ()
    return tuple(_same(one.get("id") if isinstance(one, dict) else one, known) for one in given)


def _as_it_stands(quote: str, texts: Collection[str]) -> str:
    """A quote of a text that was laid before the judge in its neutral form, as that text itself has it."""
    back = NEUTRALISED.sub(r"<\1\2", quote).replace(NEUTRAL_NONCE, NONCE)
    return back if back != quote and any(folded(back) in folded(text) for text in texts) else quote


def _claim(item: Mapping[str, Json], on: str, docket: Docket, *, scored: bool) -> Claim:
    said, quote = item.get("says"), item.get("quote")
    cited = tuple(dict.fromkeys(_cited(item.get("evidence"), docket.texts)))[:MAX_CITED]
    texts = [docket.texts[name] for name in cited if name in docket.texts]
    claim = Claim(
        on=on,
        by=JUDGE,
        evidence=cited,
        quote=_as_it_stands(quote, texts) if isinstance(quote, str) else "",
        says=said[:MAX_SAYS] if isinstance(said, str) else "",
    )
    if quote is not None and not isinstance(quote, str):
        return replace(claim, fault=f"the quote {quote!r:.40} is no text")
    if scored:
        score = usable_score(_number(item.get("score")))
        fault = "" if score is not None else f"the score {item.get('score')!r:.40} is no number from 0 to 10"
        return replace(claim, score=score, fault=fault)
    word = item.get("verdict")
    word = word.strip().lower() if isinstance(word, str) else word
    fault = "" if word in ("pass", "fail") else f"the verdict {word!r:.40} is neither pass nor fail"
    return replace(claim, met=None if fault else word == "pass", fault=fault)


def _number(given: Json) -> Json:
    """A score as it was given; a number that stands in quotes, and nothing beside it, is that number."""
    return float(given) if isinstance(given, str) and PLAIN_NUMBER.fullmatch(given.strip()) else given


def faulty(claims: Sequence[Claim], docket: Docket) -> dict[str, str]:
    """What a repair request must ask for again: id -> why."""
    return faults([c.id for c in docket.checks], [c.name for c in docket.criteria], claims, docket.texts)


def sent_back(found: Mapping[str, str], docket: Docket) -> Unusable:
    """The faults as a repair request tells them, with the shape for what is asked again."""
    reason = "; ".join(f"{on}: {why}" for on, why in found.items())
    return Unusable(reason, again=f"Give these findings again. {shape(docket, found)}")


def merged(first: Sequence[Claim], second: Sequence[Claim], found: Mapping[str, str]) -> list[Claim]:
    """The claims after a repair: what was faulty is taken from the second reply where that can be used, the rest stands."""
    again = {claim.on for claim in second if claim.on in found and not claim.fault}
    lost = {claim.on for claim in first}
    kept = [claim for claim in first if claim.on not in again]
    return kept + [claim for claim in second if claim.on in again or (claim.on in found and claim.on not in lost)]
