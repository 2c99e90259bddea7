"""A verdict rests on evidence, and nothing that a rater says can make a pass out of less."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb.records import Check, Criterion, Finding, Verdict, Weight
from pge_nb.verdict import (
    JUDGE,
    Claim,
    faults,
    folded,
    founded_scores,
    grade,
    overall,
    share_met,
    trend,
    usable_score,
    verdict_of,
    weakest,
)

CHECKS = (Check(id="c1", says="add(1, 2) is 3"), Check(id="c2", says="add('', '') is ''"))
CRITERIA = (
    Criterion(name="correctness", description="right", weight="high"),
    Criterion(name="clarity", description="readable", weight="low", threshold=6),
)
EVIDENCE = {"e1": "3 of 3 inputs gave\nwhat is wanted", "e2": "def add(a, b):\n    return a + b\n"}
GOOD = (
    Claim(on="c1", by=JUDGE, met=True, evidence=("e1",), quote="3 of 3 inputs"),
    Claim(on="c2", by=JUDGE, met=True, evidence=("e2",)),
    Claim(on="correctness", by=JUDGE, score=8, evidence=("e1",)),
    Claim(on="clarity", by=JUDGE, score=7.5, evidence=("e2",), quote="def add(a, b):"),
)


def judged(*claims: Claim, criteria: tuple[Criterion, ...] = CRITERIA) -> Verdict:
    return verdict_of(grade(CHECKS, criteria, claims, EVIDENCE))


def with_claim(**changes: object) -> tuple[Claim, ...]:
    """The good claims, the one named by ``on`` changed."""
    on = changes.pop("on")
    return tuple(replace(claim, **changes) if claim.on == on else claim for claim in GOOD)  # type: ignore[arg-type]


def test_a_finding_with_evidence_on_everything_passes() -> None:
    assert judged(*GOOD) == "pass"


def test_no_claims_at_all_are_unmeasured() -> None:
    assert judged() == "unmeasured"


def test_nothing_to_judge_is_unmeasured() -> None:
    assert verdict_of(grade((), (), GOOD, EVIDENCE)) == "unmeasured"


@pytest.mark.parametrize("left_out", [claim.on for claim in GOOD])
def test_a_missing_finding_is_unmeasured(left_out: str) -> None:
    claims = [claim for claim in GOOD if claim.on != left_out]
    assert judged(*claims) == "unmeasured"
    assert faults(["c1", "c2"], ["correctness", "clarity"], claims, EVIDENCE) == {left_out: "no finding was given"}


@pytest.mark.parametrize("score", [99, -1, 10.0001, -0.0001, "9", "**2**", "2/10", True, None, [9], 10**400])
@pytest.mark.parametrize("on", ["correctness", "clarity"])
def test_a_score_that_is_no_number_from_0_to_10_is_unmeasured(score: object, on: str) -> None:
    claims = with_claim(on=on, score=score)
    assert judged(*claims) == "unmeasured"
    assert on in faults(["c1", "c2"], ["correctness", "clarity"], claims, EVIDENCE)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_unmeasured_and_not_stored(score: float) -> None:
    findings = grade(CHECKS, CRITERIA, with_claim(on="clarity", score=score), EVIDENCE)
    assert verdict_of(findings) == "unmeasured"
    assert findings[3].score is None


@pytest.mark.parametrize("met", [None, "true", "pass", 1])
def test_a_check_is_met_by_true_alone(met: object) -> None:
    assert judged(*with_claim(on="c1", met=met)) == "unmeasured"


def test_a_claim_with_a_fault_is_unmeasured_whatever_else_it_says() -> None:
    assert judged(*with_claim(on="c1", fault="the verdict 'ok' is neither")) == "unmeasured"


@pytest.mark.parametrize("on", [claim.on for claim in GOOD])
@pytest.mark.parametrize(
    ("evidence", "quote", "why"),
    [
        ((), "", "no evidence was cited"),
        (("e9",), "", "cites e9, which was never issued"),
        (("e1", "e9"), "", "cites e9, which was never issued"),
        (("E1",), "", "cites E1, which was never issued"),
        (("e1",), "all 12 inputs agree", "the quote does not stand in e1"),
        (("e1",), "def add(a, b):", "the quote does not stand in e1"),
    ],
)
def test_evidence_that_does_not_hold_is_a_fail(on: str, evidence: tuple[str, ...], quote: str, why: str) -> None:
    claims = with_claim(on=on, evidence=evidence, quote=quote)
    findings = grade(CHECKS, CRITERIA, claims, EVIDENCE)
    assert verdict_of(findings) == "fail"
    assert next(finding for finding in findings if finding.on == on).why == why
    assert faults(["c1", "c2"], ["correctness", "clarity"], claims, EVIDENCE) == {on: why}


def test_a_quote_matches_after_nfc_and_white_space_folding() -> None:
    evidence = {"e1": "The cafe\u0301 is\n\t  open"}
    claim = Claim(on="c1", by=JUDGE, met=True, evidence=("e1",), quote=" The caf\u00e9 is open ")
    assert grade(CHECKS[:1], (), [claim], evidence)[0].verdict == "pass"
    assert grade(CHECKS[:1], (), [replace(claim, quote="the caf\u00e9")], evidence)[0].verdict == "fail"


def test_a_score_at_its_threshold_passes_and_one_below_fails() -> None:
    assert judged(*with_claim(on="clarity", score=6)) == "pass"
    assert judged(*with_claim(on="clarity", score=5.999)) == "fail"


def test_the_threshold_is_the_criterions_own() -> None:
    """A rater has no way to say one: a claim carries none, and a criterion that is not the plan's is left out."""
    lowered = Criterion(name="correctness", description="", threshold=0)
    assert not any(hasattr(GOOD[2], name) for name in ("threshold", "criterion", lowered.name))
    claims = [*with_claim(on="correctness", score=6), Claim(on="threshold", by=JUDGE, score=0, evidence=("e1",))]
    findings = grade(CHECKS, CRITERIA, claims, EVIDENCE)
    assert [finding.on for finding in findings] == ["c1", "c2", "correctness", "clarity"]
    assert verdict_of(findings) == "fail"


def test_a_threshold_that_is_no_number_is_reached_by_nothing() -> None:
    odd = (replace(CRITERIA[0], threshold=float("nan")), CRITERIA[1])
    assert judged(*GOOD, criteria=odd) == "fail"


@pytest.mark.parametrize(
    "second",
    [
        Claim(on="c1", by=JUDGE, met=False, evidence=("e1",)),
        Claim(on="c1", by=JUDGE, met=None),
        Claim(on="c1", by=JUDGE, met=True),
        Claim(on="c1", by=JUDGE, met=True, evidence=("e7",)),
        Claim(on="correctness", by=JUDGE, score=2, evidence=("e1",)),
        Claim(on="correctness", by=JUDGE, score=8.1, evidence=("e1",)),
        Claim(on="correctness", by=JUDGE, score=8, evidence=("e1",), quote="nowhere"),
    ],
)
def test_duplicates_that_disagree_are_unmeasured_in_either_order(second: Claim) -> None:
    assert judged(*GOOD, second) == "unmeasured"
    assert judged(second, *GOOD) == "unmeasured"
    assert second.on in faults(["c1", "c2"], ["correctness", "clarity"], [*GOOD, second], EVIDENCE)


def test_duplicates_that_agree_count_once() -> None:
    findings = grade(CHECKS, CRITERIA, [*GOOD, *GOOD], EVIDENCE)
    assert verdict_of(findings) == "pass"
    assert len(findings) == 4


def test_scores_that_disagree_leave_no_score_behind() -> None:
    findings = grade(CHECKS, CRITERIA, [*GOOD, replace(GOOD[2], score=2)], EVIDENCE)
    assert findings[2].score is None


def test_a_failed_review_decides_fail_even_beside_what_was_not_measured() -> None:
    reviewed = Claim(on="c1", by="oracle", met=False, evidence=("e1",))
    assert judged(reviewed) == "fail"


def test_an_unmeasured_finding_decides_over_a_fail_of_the_judge() -> None:
    assert judged(*with_claim(on="c1", met=False)[:3]) == "unmeasured"


@pytest.mark.parametrize("judge_first", [True, False])
def test_the_judge_cannot_overrule_a_review(judge_first: bool) -> None:
    reviewed = Claim(on="c1", by="oracle", met=False, evidence=("e1",))
    claims = [*GOOD, reviewed] if judge_first else [reviewed, *GOOD]
    findings = grade(CHECKS, CRITERIA, claims, EVIDENCE)
    assert (findings[0].verdict, findings[0].by) == ("fail", "oracle")
    assert verdict_of(findings) == "fail"


def test_an_unmet_check_or_a_low_score_is_no_fault_to_repair() -> None:
    claims = [*with_claim(on="c1", met=False, evidence=())[:2], *with_claim(on="clarity", score=0)[2:]]
    assert faults(["c1", "c2"], ["correctness", "clarity"], claims, EVIDENCE) == {}


# Scores

WORKED = (
    Finding(on="c1", about="check", verdict="pass", why="", by="oracle"),
    Finding(on="c2", about="check", verdict="fail", why="", by="oracle"),
    Finding(on="correctness", about="criterion", verdict="pass", why="", by=JUDGE, score=8),
    Finding(on="clarity", about="criterion", verdict="fail", why="", by=JUDGE, score=4),
)


def test_overall_is_the_weighted_mean_of_the_scores() -> None:
    assert overall(WORKED, CRITERIA) == 7.0  # (3 * 8 + 1 * 4) / 4


def test_overall_without_criteria_is_ten_times_the_share_of_checks_met() -> None:
    assert overall(WORKED[:2], ()) == 5.0
    assert overall((), ()) is None


def test_overall_and_weakest_are_unknown_where_a_score_is() -> None:
    for score_gone in (WORKED[:3], (*WORKED[:3], replace(WORKED[3], score=None))):
        assert overall(score_gone, CRITERIA) is None
        assert weakest(score_gone, CRITERIA) is None
    assert overall((*WORKED[:3], replace(WORKED[3], verdict="unmeasured")), CRITERIA) is None


def test_a_score_of_zero_is_a_score() -> None:
    zero = (*WORKED[:3], replace(WORKED[3], score=0.0))
    assert overall(zero, CRITERIA) == 6.0
    assert weakest(zero, CRITERIA) == 0.0


def test_a_score_that_rests_on_no_evidence_lifts_nothing() -> None:
    claims = with_claim(on="correctness", score=10, evidence=())
    findings = grade(CHECKS, CRITERIA, claims, EVIDENCE)
    assert findings[2].score == 10  # what was said is kept
    assert founded_scores(findings, CRITERIA) == [None, 7.5]
    assert overall(findings, CRITERIA) is None
    assert weakest(findings, CRITERIA) is None


def test_weakest_is_the_least_of_scores_and_share_of_checks() -> None:
    assert weakest(WORKED, CRITERIA) == 4
    assert weakest((WORKED[1], *WORKED[2:]), CRITERIA) == 0
    assert weakest(WORKED[2:], CRITERIA) == 4
    assert weakest((), ()) is None


def test_share_met_counts_checks_alone() -> None:
    assert share_met(WORKED) == 0.5
    assert share_met(WORKED[2:]) is None


@pytest.mark.parametrize(
    ("score", "best", "wanted"),
    [(7.6, 7, "rising"), (7.5, 7, "flat"), (7, 7, "flat"), (6.5, 7, "flat"), (6.4, 7, "falling")],
)
def test_a_change_within_the_noise_is_flat(score: float, best: float, wanted: str) -> None:
    assert trend(score, best, 0.5) == wanted


def test_usable_scores_are_the_finite_numbers_from_0_to_10() -> None:
    assert [usable_score(value) for value in (0, 10, 7.25)] == [0.0, 10.0, 7.25]
    assert all(usable_score(value) is None for value in (True, False, "7", None, -1, 10.1, float("nan"), 10**5000, {}))


# What holds for every input

many = settings(deadline=None, max_examples=60)

SCORES = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-2, 12), st.just(True))
CLAIMS = st.builds(
    Claim,
    on=st.sampled_from(["c1", "c2", "correctness", "clarity", "c3", ""]),
    by=st.sampled_from([JUDGE, "oracle", "command"]),
    met=st.sampled_from([None, True, False]),
    score=SCORES,
    evidence=st.lists(st.sampled_from(["e1", "e2", "e3", ""]), max_size=3).map(tuple),
    quote=st.sampled_from(["", "def add", "nowhere", " "]),
    fault=st.sampled_from(["", "", "", "unreadable"]),
)
FINDINGS = st.builds(
    Finding,
    on=st.sampled_from(["c1", "c2", "correctness"]),
    about=st.sampled_from(["check", "criterion"]),
    verdict=st.sampled_from(["pass", "fail", "unmeasured"]),
    why=st.just(""),
    by=st.sampled_from([JUDGE, "oracle"]),
)


@many
@given(st.lists(CLAIMS, max_size=8))
def test_without_evidence_nothing_passes(claims: list[Claim]) -> None:
    assert judged(*(replace(claim, evidence=()) for claim in claims)) != "pass"
    assert verdict_of(grade(CHECKS, CRITERIA, claims, {})) != "pass"


@many
@given(st.lists(CLAIMS, max_size=8))
def test_a_pass_holds_everything_that_it_says(claims: list[Claim]) -> None:
    findings = grade(CHECKS, CRITERIA, (*claims, *GOOD), EVIDENCE)
    if verdict_of(findings) == "pass":
        assert [finding.on for finding in findings] == ["c1", "c2", "correctness", "clarity"]
        assert all(finding.evidence and set(finding.evidence) <= set(EVIDENCE) for finding in findings)
        assert all(
            finding.score is not None and criterion.threshold <= finding.score <= 10
            for finding, criterion in zip(findings[2:], CRITERIA, strict=True)
        )


@many
@given(st.lists(CLAIMS, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_claims_changes_no_verdict_and_no_score(claims: list[Claim], random: object) -> None:
    shuffled = list(claims)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    left, right = (grade(CHECKS, CRITERIA, order, EVIDENCE) for order in (claims, shuffled))
    assert [(f.on, f.verdict, f.score) for f in left] == [(f.on, f.verdict, f.score) for f in right]
    # Whether a fail is a review's is what `verdict_of` asks, so that may not depend on the order either.
    assert [f.by == JUDGE for f in left] == [f.by == JUDGE for f in right]
    assert overall(left, CRITERIA) == overall(right, CRITERIA)


@many
@given(st.lists(FINDINGS, max_size=5), FINDINGS.filter(lambda finding: finding.verdict != "pass"))
def test_a_finding_that_does_not_pass_never_makes_a_pass(findings: list[Finding], added: Finding) -> None:
    for place in range(len(findings) + 1):
        assert verdict_of([*findings[:place], added, *findings[place:]]) != "pass"


@many
@given(st.lists(CLAIMS, max_size=6), CLAIMS)
def test_one_more_claim_never_turns_a_fail_of_a_review_into_a_pass(claims: list[Claim], added: Claim) -> None:
    failed = [*claims, Claim(on="c1", by="oracle", met=False, evidence=("e1",))]
    assert judged(*failed, added) != "pass"


@many
@given(st.lists(CLAIMS, max_size=8))
def test_weights_never_change_a_verdict(claims: list[Claim]) -> None:
    weights: tuple[Weight, ...] = ("high", "standard", "low")
    verdicts = {
        judged(*claims, *GOOD, criteria=tuple(replace(c, weight=w) for c, w in zip(CRITERIA, drawn, strict=True)))
        for drawn in itertools.product(weights, repeat=2)
    }
    assert len(verdicts) == 1


@many
@given(st.lists(CLAIMS, max_size=8))
def test_overall_is_unknown_or_from_0_to_10(claims: list[Claim]) -> None:
    score = overall(grade(CHECKS, CRITERIA, (*claims, *GOOD), EVIDENCE), CRITERIA)
    assert score is None or 0 <= score <= 10


@many
@given(st.text(), st.text())
def test_folding_twice_is_folding_once(left: str, right: str) -> None:
    assert folded(folded(left)) == folded(left)
    assert folded(f"{left} {right}") == folded(f"{left}\n\t{right}")
