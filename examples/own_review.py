"""A review method of one's own: no line of a text file is longer than the check says.

    PGEHarness(HarnessConfig(review_methods={"lines": Lines()})).run("...")

The agents are told of it by `help`, and a check that they give it is looked at here, before any judge is asked.
"""

from dataclasses import dataclass

from pge_nb.reviews import Outcome, Review, args_of


@dataclass(frozen=True)
class LinesArgs:
    path: str
    most: int = 80


class Lines(Review):
    name = "lines"
    help = 'no line of a file is longer: {"path": "notes.md", "most": 80}'
    Args = LinesArgs

    def look(self, check, tree):
        args = args_of(LinesArgs, check)
        longest = max(len(line) for line in (tree.text(args.path) or "").split("\n"))
        saw = f"the longest line has {longest} characters, at most {args.most} are wanted"
        return Outcome(met=0 < longest <= args.most, says=f"measured {args.path}", saw=saw)
