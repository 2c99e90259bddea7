"""How often intervals hold the truth, on simulated raters whose truth is known.

    python benchmarks/coverage.py [--runs 2000] [--only kappa,tpr] [--part iid|clustered|more] [--out table.md]

A cell is a setting, a number of items and a statistic. Each run draws labels and verdicts, asks the package for its default
interval, and looks whether the true value lies inside. Beside it stand the textbook interval (Wald) and the percentile and BCa
bootstrap (1,000 resamples), for groups also the default interval of somebody who does not know of them.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pge_nb import calibration as cal
from pge_nb.calibration.intervals import bca, percentile
from pge_nb.errors import Uninformative

SEED = 7
RESAMPLES = 1000
SIZES = (50, 200, 1000)
LOW, HIGH = 0.925, 0.98
FEWEST = 5  # expected items of a class under which a cell is reported and not judged

# (rate of good items, TPR, TNR)
IID = ((0.5, 0.85, 0.85), (0.37, 0.88, 0.91), (0.8, 0.95, 0.7), (0.9, 0.95, 0.6), (0.95, 0.98, 0.5), (0.7, 0.8, 0.4))
CLUSTERED = tuple((0.37, 0.88, 0.91, tasks, icc) for tasks in (20, 50) for icc in (0.05, 0.2))
STATISTICS = ("agreement", "kappa", "ac1", "alpha", "tpr", "tnr", "bad_given_accepted", "leniency", "corrected")
METHODS = ("default", "wald", "percentile", "bca", "naive")

Cells = np.ndarray  # (..., 4): bad failed, bad passed, good failed, good passed


@dataclass
class Row:
    """One cell of the table."""

    part: str
    setting: str
    n: int
    statistic: str
    judged: bool
    hits: dict[str, int] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)

    def count(self, method: str, low: float, high: float, truth: float) -> None:
        self.tries[method] = self.tries.get(method, 0) + 1
        self.hits[method] = self.hits.get(method, 0) + (low - 1e-12 <= truth <= high + 1e-12)

    def share(self, method: str) -> float:
        return self.hits.get(method, 0) / self.tries[method] if self.tries.get(method) else float("nan")


def cell_statistics(cells: Cells) -> dict[str, np.ndarray]:
    """Each statistic of counts or probabilities of the four cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = cells / cells.sum(axis=-1, keepdims=True)
        n = cells.sum(axis=-1)
        bf, bp, gf, gp = (p[..., k] for k in range(4))
        agree, label, verdict = bf + gp, gf + gp, bp + gp
        chance = label * verdict + (1 - label) * (1 - verdict)
        mean = (label + verdict) / 2
        ac_chance = 2 * mean * (1 - mean)
        scott = mean**2 + (1 - mean) ** 2
        return {
            "agreement": agree,
            "kappa": (agree - chance) / (1 - chance),
            "ac1": (agree - ac_chance) / (1 - ac_chance),
            "alpha": 1 - (1 - agree) / (1 - scott) * (2 * n - 1) / (2 * n),
            "tpr": gp / label,
            "tnr": bf / (1 - label),
            "bad_given_accepted": bp / verdict,
            "leniency": verdict - label,
        }


def truths(rate: float, tpr: float, tnr: float) -> dict[str, float]:
    cells = np.array([(1 - rate) * tnr, (1 - rate) * (1 - tnr), rate * (1 - tpr), rate * tpr])
    # A population has no small-sample factor in alpha.
    found = {name: float(value) for name, value in cell_statistics(cells * 1e12).items()}
    return found | {"corrected": rate}


def beta(mean: float, icc: float, size: int, rng: np.random.Generator) -> np.ndarray:
    scale = (1 - icc) / icc
    return rng.beta(mean * scale, (1 - mean) * scale, size)


@dataclass
class Sample:
    labels: np.ndarray
    verdicts: np.ndarray
    groups: np.ndarray | None
    unlabelled: np.ndarray
    groups_unlabelled: np.ndarray | None


def draw(setting: tuple[float, ...], n: int, rng: np.random.Generator) -> Sample:
    """n labelled items and 2 n unlabelled ones of the same kind, the latter from tasks of their own."""
    rate, tpr, tnr = setting[:3]
    if len(setting) == 3:
        labels = rng.random(3 * n) < rate
        verdicts = rng.random(3 * n) < np.where(labels, tpr, 1 - tnr)
        return Sample(labels[:n], verdicts[:n], None, verdicts[n:], None)
    tasks, icc = int(setting[3]), setting[4]
    group = np.concatenate([np.arange(n) % tasks, tasks + np.arange(2 * n) % tasks])
    rates, tprs, false_passes = (beta(mean, icc, 2 * tasks, rng)[group] for mean in (rate, tpr, 1 - tnr))
    labels = rng.random(3 * n) < rates
    verdicts = rng.random(3 * n) < np.where(labels, tprs, false_passes)
    return Sample(labels[:n], verdicts[:n], group[:n], verdicts[n:], group[n:])


def estimates(sample: Sample, wanted: set[str], interval: str, grouped: bool) -> Iterator[tuple[str, cal.Estimate]]:
    """The package's own estimates of one sample."""
    groups = sample.groups if grouped else None
    tail = {"groups": groups, "interval": interval}
    a, b = sample.labels.astype(int), sample.verdicts.astype(int)
    if "agreement" in wanted:
        yield "agreement", cal.percent_agreement(a, b, **tail)
    if "kappa" in wanted:
        yield "kappa", cal.cohen_kappa(a, b, labels=[0, 1], **tail)
    if "ac1" in wanted:
        yield "ac1", cal.gwet_ac(np.column_stack([a, b]), labels=[0, 1], **tail)
    if "alpha" in wanted:
        yield "alpha", cal.krippendorff_alpha(np.column_stack([a, b]), **tail)
    if wanted & {"tpr", "tnr", "bad_given_accepted", "leniency"}:
        rates = cal.verdict_rates(a, b, **tail)
        for name in ("tpr", "tnr", "bad_given_accepted", "leniency"):
            if name in wanted:
                yield name, getattr(rates, name)
    if "corrected" in wanted:
        other = sample.groups_unlabelled if grouped else None
        try:
            yield "corrected", cal.corrected_rate(a, b, sample.unlabelled.astype(int), groups_unlabelled=other, **tail)
        except Uninformative:
            return


def table_of(labels: np.ndarray, verdicts: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Units x 4 counts; without groups the cells themselves are what is drawn."""
    cell = 2 * labels.astype(int) + verdicts
    if groups is None:
        return np.bincount(cell, minlength=4).astype(float)
    units = int(groups.max()) + 1
    return np.bincount(groups * 4 + cell, minlength=units * 4).reshape(units, 4).astype(float)


def resample(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Resamples x 4 counts."""
    if table.ndim == 1:
        n = int(table.sum())
        return rng.multinomial(n, table / n, size=RESAMPLES).astype(float)
    units = len(table)
    return rng.multinomial(units, np.full(units, 1 / units), size=RESAMPLES) @ table


def leave_out(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(totals without each unit, how many units are like it)."""
    if table.ndim == 1:
        present = table > 0
        return table - np.eye(4)[present], table[present].astype(int)
    return table.sum(axis=0) - table, np.ones(len(table), dtype=int)


def bootstrapped(sample: Sample, wanted: set[str], rng: np.random.Generator) -> Iterator[tuple[str, str, float, float]]:
    """Percentile and BCa intervals, from cells alone."""
    table = table_of(sample.labels, sample.verdicts, sample.groups)
    total = table if table.ndim == 1 else table.sum(axis=0)
    drawn, value = cell_statistics(resample(table, rng)), cell_statistics(total)
    reduced, like = leave_out(table)
    without = cell_statistics(reduced)
    if "corrected" in wanted:
        seen, seen_drawn = other_rate(sample, rng)
        value["corrected"] = correct(seen, value)
        drawn["corrected"] = correct(seen_drawn, drawn)
        without["corrected"] = correct(seen, without)
    for name in wanted & set(value):
        replicates = drawn[name][np.isfinite(drawn[name])]
        if not len(replicates) or not np.isfinite(value[name]):
            continue
        yield "percentile", name, *percentile(replicates, 0.95)
        yield "bca", name, *bca(float(value[name]), replicates, np.repeat(without[name], like), 0.95)


def other_rate(sample: Sample, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Verdict rate of the unlabelled items, and of their resamples."""
    groups = sample.groups_unlabelled
    if groups is None:
        n, seen = len(sample.unlabelled), float(sample.unlabelled.mean())
        return seen, rng.binomial(n, seen, RESAMPLES) / n
    own = groups - groups.min()
    rows = np.column_stack([np.bincount(own, weights=sample.unlabelled), np.bincount(own)])
    sums = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=RESAMPLES) @ rows
    return float(sample.unlabelled.mean()), sums[:, 0] / sums[:, 1]


def correct(seen: float | np.ndarray, rates: dict[str, np.ndarray]) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip((seen + rates["tnr"] - 1) / (rates["tpr"] + rates["tnr"] - 1), 0, 1)


def intervals_of(part: str, sample: Sample, wanted: set[str], beside: bool) -> Iterator[tuple[str, str, float, float]]:
    """The package's own intervals: method, statistic, ends."""
    methods = [("default", "default", True)]
    if beside:
        methods.append(("wald", "analytic", True))
    if beside and part == "clustered":
        methods.append(("naive", "default", False))
    for method, interval, grouped in methods:
        for name, estimate in estimates(sample, wanted, interval, grouped):
            yield method, name, estimate.low, estimate.high


def measure(part: str, setting: tuple[float, ...], n: int, runs: int, beside: int, wanted: set[str]) -> list[Row]:
    """All statistics of one setting and size."""
    rate = setting[0]
    truth = truths(*setting[:3])
    judged = round(n * min(rate, 1 - rate), 9) >= FEWEST
    rows = {name: Row(part, str(setting), n, name, judged) for name in STATISTICS if name in wanted}
    rng = np.random.default_rng([SEED, n, *(int(1000 * value) for value in setting)])
    known: dict[tuple[int, ...], list[tuple[str, str, float, float]]] = {}
    for run in range(runs):
        sample = draw(setting, n, rng)
        # Independent items make one table of counts one sample: what was computed for it before holds again.
        key = (*np.bincount(2 * sample.labels + sample.verdicts, minlength=4).tolist(), int(sample.unlabelled.sum()))
        found = known.get(key) if part == "iid" else None
        if found is None:
            found = known[key] = list(intervals_of(part, sample, wanted, run < beside))
        for method, name, low, high in [*found, *bootstrapped(sample, wanted, rng)]:
            rows[name].count(method, low, high, truth[name])
    return list(rows.values())


# The statistics that two by two tables do not hold.


def three_raters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three raters, each right with probability .85 on items of which .37 are good."""
    labels = rng.random(n) < 0.37
    return np.where(rng.random((n, 3)) < 0.85, labels[:, None], ~labels[:, None]).astype(int)


def two_scores(n: int, rng: np.random.Generator, r: float = 0.7) -> np.ndarray:
    return rng.multivariate_normal([0, 0.3], [[1, r], [r, 1]], size=n)


def scores_of_raters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Four raters: item variance 1, rater effects fixed and equal, residual variance .5: every ICC of one rating is 2/3."""
    return rng.normal(size=(n, 1)) + np.sqrt(0.5) * rng.normal(size=(n, 4))


def labelled_scores(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.random(n) < 0.5
    return labels.astype(int), rng.normal(size=n) + 1.2 * labels


def more() -> dict[str, tuple[float, Callable[[int, np.random.Generator], cal.Estimate]]]:
    """Name -> (true value, estimate of n items)."""
    from scipy import stats

    pair = 0.85**2 + 0.15**2
    share = 0.37 * 0.85 + 0.63 * 0.15
    scott, gwet = share**2 + (1 - share) ** 2, 2 * share * (1 - share)

    def judge_and_people(n: int, rng: np.random.Generator) -> cal.Estimate:
        people = three_raters(n, rng)
        judge = np.where(rng.random(n) < 0.9, people[:, 0], 1 - people[:, 0])
        return cal.human_ceiling(people[:, 1:], judge, "accuracy").people

    def retest(n: int, rng: np.random.Generator) -> cal.Estimate:
        return cal.noise_floor(rng.normal(7, 1, (n, 1)) + 0.5 * rng.normal(size=(n, 3))).sd

    def powered(n: int, rng: np.random.Generator) -> cal.Estimate:
        sample = draw((0.8, 0.95, 0.7), n, rng)
        return cal.corrected_rate(sample.labels, sample.verdicts, sample.unlabelled, "ppi++", same_population=True)

    def components(n: int, rng: np.random.Generator) -> cal.Estimate:
        n -= n % 4
        tasks = np.repeat(np.arange(n // 4), 4)
        attempts = np.arange(n) // 2
        noise = rng.normal(size=n // 4)[tasks] + 0.7 * rng.normal(size=n // 2)[attempts] + 0.5 * rng.normal(size=n)
        return cal.variance_components(noise, tasks, attempts).repeat

    def calibrated(n: int, rng: np.random.Generator) -> cal.Estimate:
        chances = rng.random(n)
        return cal.brier(rng.random(n) < chances, chances).score

    def two_judges(n: int, rng: np.random.Generator) -> cal.Estimate:
        labels = rng.random(n) < 0.5
        a, b = (np.where(rng.random(n) < right, labels, ~labels) for right in (0.9, 0.8))
        return cal.compare_raters(labels, a, b).difference

    def two_places(n: int, rng: np.random.Generator) -> cal.Estimate:
        a, b = (draw((0.6, tpr, 0.8), n, rng) for tpr in (0.8, 0.9))
        return cal.carries_over(a.labels, a.verdicts, b.labels, b.verdicts).tpr_difference

    return {
        "gwet_ac, 3 raters": ((pair - gwet) / (1 - gwet), lambda n, g: cal.gwet_ac(three_raters(n, g))),
        "fleiss_kappa, 3 raters": ((pair - scott) / (1 - scott), lambda n, g: cal.fleiss_kappa(three_raters(n, g))),
        "krippendorff_alpha, 3 raters": (
            (pair - scott) / (1 - scott),
            lambda n, g: cal.krippendorff_alpha(three_raters(n, g)),
        ),
        "krippendorff_alpha, interval": (
            2 / 3,
            lambda n, g: cal.krippendorff_alpha(scores_of_raters(n, g), metric="interval"),
        ),
        "icc(A,1)": (2 / 3, lambda n, g: cal.icc(scores_of_raters(n, g))),
        "icc(C,k)": (8 / 9, lambda n, g: cal.icc(scores_of_raters(n, g), "ICC(C,k)")),
        "spearman": (6 / np.pi * np.arcsin(0.35), lambda n, g: cal.rank_correlation(*two_scores(n, g).T)),
        "kendall": (2 / np.pi * np.arcsin(0.7), lambda n, g: cal.rank_correlation(*two_scores(n, g).T, "kendall")),
        "somers": (2 / np.pi * np.arcsin(0.7), lambda n, g: cal.rank_correlation(*two_scores(n, g).T, "somers")),
        "auc": (float(stats.norm.cdf(1.2 / np.sqrt(2))), lambda n, g: cal.roc(*labelled_scores(n, g)).auc),
        "signed_error": (0.3, lambda n, g: cal.signed_error(*two_scores(n, g).T)),
        "spread_ratio": (1.0, lambda n, g: cal.spread_ratio(*two_scores(n, g).T)),
        "human_ceiling, people": (pair, judge_and_people),
        "noise_floor, sd": (0.5, retest),
        "brier": (1 / 6, calibrated),
        "compare_raters, accuracy": (0.1, two_judges),
        "carries_over, TPR": (0.1, two_places),
        "ppi++": (0.8, powered),
        "variance_components, repeat": (0.25, components),
    }


def measure_more(runs: int, only: set[str]) -> Iterator[Row]:
    for name, (truth, function) in more().items():
        if only and not any(word in name for word in only):
            continue
        for n in (50, 200) if name != "ppi++" else (100, 200, 1000):
            row = Row("more", "", n, name, judged=True)
            rng = np.random.default_rng([SEED, n])
            for _ in range(runs):
                _, low, high = function(n, rng)
                row.count("default", low, high, truth)
            yield row


def line(row: Row, runs: int) -> str:
    share = row.share("default")
    if not row.judged:
        verdict = "reported only"
    elif share < LOW:
        verdict = "**under**"
    else:
        verdict = "over" if share > HIGH else "ok"
    gaps = runs - row.tries.get("default", 0)
    refused = f"{gaps / runs:.3f}" if gaps else ""
    shares = [f"{row.share(method):.3f}" if row.tries.get(method) else "" for method in METHODS]
    return f"| {row.setting} | {row.n} | {row.statistic} | {' | '.join(shares)} | {refused} | {verdict} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--beside", type=int, default=0, help="runs for the columns beside the default; 0: all")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        help='only this one, e.g. "(0.5, 0.85, 0.85)" or "(0.5, 0.85, 0.85) 50"',
    )
    parser.add_argument("--only", default="", help="statistics, with commas between")
    parser.add_argument("--part", default="", help="iid, clustered or more")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    args = parser.parse_args()
    warnings.simplefilter("ignore", cal.CalibrationWarning)
    chosen = set(args.setting)
    only = {name for name in args.only.split(",") if name}
    wanted = {name for name in STATISTICS if not only or name in only}
    head = [
        "| setting | n | statistic | default | Wald | percentile | BCa | groups ignored | refused | |",
        "|" + "---|" * 10,
    ]
    lines = [*head]
    print("\n".join(head), flush=True)
    for part, settings in (("iid", IID), ("clustered", CLUSTERED)):
        if args.part not in ("", part) or not wanted:
            continue
        for setting, n in itertools.product(settings, SIZES):
            if not chosen or str(setting) in chosen or f"{setting} {n}" in chosen:
                start = time.perf_counter()
                for row in measure(part, setting, n, args.runs, args.beside or args.runs, wanted):
                    lines.append(line(row, args.runs))
                    print(lines[-1], flush=True)
                print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if args.part in ("", "more"):
        for row in measure_more(args.runs, only):
            lines.append(line(row, args.runs))
            print(lines[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
