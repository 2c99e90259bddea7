"""From what a rater said to a verdict. Pure, and the only place where a verdict is made.

A claim passes only with evidence that the harness issued. What could not be measured is never a pass, and never a fail either.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .records import WEIGHTS, Check, Criterion, Finding, Verdict

Trend = Literal["rising", "flat", "falling"]
JUDGE = "judge"
LOWEST, HIGHEST = 0.0, 10.0
NOT_MET = "not met"
MEANINGLESS = dict.fromkeys(
    map(ord, "\u0640\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
)
"""Tatweel, which stretches an Arabic word, the marks of direction, the byte order mark: who copies leaves them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a rater or a review said of one check or criterion, before it is weighed.

    ``met`` is for a check, ``score`` for a criterion; None: not given. ``fault`` says why the claim cannot be used.
    """

    on: str
    by: str
    met: bool | None = None
    score: float | None = None
    evidence: tuple[str, ...] = ()
    quote: str = ""
    says: str = ""
    fault: str = ""


def usable_score(value: object) -> float | None:
    """The score that ``value`` is: a finite number from 0 to 10. None for anything else, True and "9" included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if LOWEST <= value <= HIGHEST else None  # false for NaN


def folded(text: str) -> str:
    """Text as quotes and names are compared: NFC, runs of white space one space, without what `MEANINGLESS` holds."""
    return " ".join(unicodedata.normalize("NFC", text.translate(MEANINGLESS)).split())


def meant(said: str, known: Collection[str]) -> str:
    """The name that was meant: the one that is written so, else the only one that is but for its form and case, else ``said``."""
    if said in known:
        return said
    alike = [one for one in known if folded(one).casefold() == folded(said).casefold()]
    return alike[0] if len(alike) == 1 else said


def grade(
    checks: Sequence[Check], criteria: Sequence[Criterion], claims: Iterable[Claim], evidence: Mapping[str, str]
) -> tuple[Finding, ...]:
    """A finding for every check and every criterion, in their order. ``evidence`` maps each issued id to its text.

    Claims on anything else are left out; a threshold is the criterion's own.
    """
    said: dict[str, list[Claim]] = {}
    for claim in claims:
        said.setdefault(claim.on, []).append(claim)
    findings = [_finding(check.id, "check", said.get(check.id, []), None, evidence) for check in checks]
    findings += [
        _finding(criterion.name, "criterion", said.get(criterion.name, []), criterion.threshold, evidence)
        for criterion in criteria
    ]
    return tuple(findings)


def _finding(
    on: str,
    about: Literal["check", "criterion"],
    claims: list[Claim],
    threshold: float | None,
    evidence: Mapping[str, str],
) -> Finding:
    if not claims:
        return Finding(on=on, about=about, verdict="unmeasured", why="no finding was given", by=JUDGE)
    # What a review decided is not the judge's to decide again.
    claims = [claim for claim in claims if claim.by != JUDGE] or claims
    claim = claims[0]
    verdict, why = _weigh(claims, threshold, evidence)
    one_score = threshold is not None and len({usable_score(each.score) for each in claims}) == 1
    return Finding(
        on=on,
        about=about,
        verdict=verdict,
        why=why,
        by=claim.by,
        score=usable_score(claim.score) if one_score else None,
        evidence=claim.evidence,
        quote=claim.quote,
        says=claim.says,
    )


def raised(criteria: Iterable[Criterion], margin: float) -> tuple[Criterion, ...]:
    """The criteria with thresholds so many points higher, 10 at most: a score that is noisy must lie that far above to pass."""
    return tuple(replace(one, threshold=min(10.0, one.threshold + margin)) if margin else one for one in criteria)


def _weigh(claims: list[Claim], threshold: float | None, evidence: Mapping[str, str]) -> tuple[Verdict, str]:
    """The verdict that claims on one thing come to, and why. Each is weighed by itself, so their order does not matter."""
    weighed = [_weigh_one(claim, threshold, evidence) for claim in claims]
    said = {
        (claim.met, usable_score(claim.score), verdict) for claim, (verdict, _) in zip(claims, weighed, strict=True)
    }
    return weighed[0] if len(said) == 1 else ("unmeasured", f"{len(claims)} findings that disagree")


def _weigh_one(claim: Claim, threshold: float | None, evidence: Mapping[str, str]) -> tuple[Verdict, str]:
    if claim.fault:
        return "unmeasured", claim.fault
    if threshold is None:
        if claim.met is not True and claim.met is not False:
            return "unmeasured", "neither pass nor fail was given"
        if not claim.met:
            return "fail", NOT_MET
        reached = "met"
    else:
        score = usable_score(claim.score)
        if score is None:
            return "unmeasured", "no usable score was given"
        if not score >= threshold:  # also where the threshold is no number
            return "fail", f"{score:g} is below {threshold:g}"
        reached = f"{score:g} reaches {threshold:g}"
    lacking = _lacking(claim, evidence)
    return ("fail", lacking) if lacking else ("pass", reached)


def _lacking(claim: Claim, evidence: Mapping[str, str]) -> str:
    """What is wrong with a claim's evidence; empty where it holds."""
    if not claim.evidence:
        return "no evidence was cited"
    if unknown := [name for name in claim.evidence if name not in evidence]:
        return f"cites {unknown[0]}, which was never issued"
    quote = folded(claim.quote)
    if quote and not any(quote in folded(evidence[name]) for name in claim.evidence):
        return f"the quote does not stand in {', '.join(claim.evidence)}"
    return ""


def undelivered(paths: Iterable[str]) -> tuple[Finding, ...]:
    """A failed finding for each deliverable that the contract names and the attempt does not hold."""
    return tuple(
        Finding(on=f"deliverable {path}", about="check", verdict="fail", why=f"{path} was not delivered", by="harness")
        for path in paths
    )


def faults(
    checks: Collection[str], criteria: Collection[str], claims: Sequence[Claim], evidence: Mapping[str, str]
) -> dict[str, str]:
    """Why a judge's claims cannot be used as they are: id -> reason. What a repair request tells; empty: nothing to repair.

    Only what the judge can mend by saying it again: a low score or an unmet check is no fault.
    """
    found: dict[str, str] = {}
    for on in (*checks, *criteria):
        mine = [claim for claim in claims if claim.on == on]
        if not mine:
            found[on] = "no finding was given"
            continue
        verdict, why = _weigh(mine, None if on in checks else LOWEST, evidence)
        if verdict == "unmeasured" or (verdict == "fail" and why != NOT_MET):
            found[on] = why
    return found


def said_to_hold(finding: Finding, threshold: float | None) -> bool:
    """Whether a rater said of a check that it is met, or gave a criterion at least its threshold, founded or not."""
    if threshold is not None:
        return finding.score is not None and finding.score >= threshold
    return finding.verdict == "pass" or (finding.verdict == "fail" and finding.why != NOT_MET)


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """The verdict of an evaluation: every check and every criterion must hold.

    A fail that a review found decides at once; then one unmeasured finding makes it unmeasured; then one fail a fail.
    No findings: unmeasured.
    """
    if any(finding.verdict == "fail" and finding.by != JUDGE for finding in findings):
        return "fail"
    if not findings or any(finding.verdict == "unmeasured" for finding in findings):
        return "unmeasured"
    return "fail" if any(finding.verdict == "fail" for finding in findings) else "pass"


def share_met(findings: Sequence[Finding]) -> float | None:
    """Share of the checks that pass, 0 to 1; None without checks."""
    checks = [finding for finding in findings if finding.about == "check"]
    return sum(finding.verdict == "pass" for finding in checks) / len(checks) if checks else None


def overall(findings: Sequence[Finding], criteria: Sequence[Criterion]) -> float | None:
    """Weighted mean of the criteria's scores, 0 to 10; without criteria 10 times the share of checks met.

    None where anything was not measured, or a score rests on no evidence. It orders attempts and drives the trend; it never
    excuses a fail.
    """
    if not findings or any(finding.verdict == "unmeasured" for finding in findings):
        return None
    if not criteria:
        share = share_met(findings)
        return None if share is None else HIGHEST * share
    scores = founded_scores(findings, criteria)
    weighted = [WEIGHTS[c.weight] * score for c, score in zip(criteria, scores, strict=True) if score is not None]
    if len(weighted) < len(criteria):
        return None
    return math.fsum(weighted) / sum(WEIGHTS[criterion.weight] for criterion in criteria)


def weakest(findings: Sequence[Finding], criteria: Sequence[Criterion]) -> float | None:
    """The least of the criteria's scores and 10 times the share of checks met.

    None where a score is not known or rests on no evidence.
    """
    scores = founded_scores(findings, criteria)
    share = share_met(findings)
    known = [score for score in scores if score is not None] + ([HIGHEST * share] if share is not None else [])
    return min(known) if known and None not in scores else None


def founded_scores(findings: Sequence[Finding], criteria: Sequence[Criterion]) -> list[float | None]:
    """The score of each criterion; None where none was given, or where it reaches its threshold and still failed.

    Such a score was claimed on evidence that does not hold: it must not lift an attempt above another.
    """
    said = {finding.on: finding for finding in findings if finding.about == "criterion"}
    scores: list[float | None] = []
    for criterion in criteria:
        finding = said.get(criterion.name)
        score = None if finding is None else finding.score
        unfounded = (
            finding is not None and finding.verdict == "fail" and score is not None and score >= criterion.threshold
        )
        scores.append(None if unfounded else score)
    return scores


def trend(score: float, best_before: float, noise: float) -> Trend:
    """How a score stands to the best before it; a change within the noise is flat."""
    if score > best_before + noise:
        return "rising"
    return "falling" if score < best_before - noise else "flat"
