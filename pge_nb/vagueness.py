"""Whether a sentence says what a test could prove wrong: a rule of words, for English, that asks nobody.

A sentence is *vague* where it holds an order ("implement login"), a bare claim that something is done ("the parser is
implemented") or praise ("works correctly", "is robust"), and nothing beside that could be seen: no number behind it, no
comparison, no verb of outcome ("returns", "raises", "lists"). It is *testable* where it names something of that kind. All
others are neither, sentences in other languages among them: what the rule cannot read it never calls vague.

It knows words, not meaning. Its rates on labelled sentences stand in ``docs/vague-checks.md``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST = 600
"""Characters that are read; a check is one sentence."""
LONGEST_HEADING = 4
"""Words."""


def _words(listed: str) -> list[str]:
    return [" ".join(word.split()) for word in listed.split(",")]


def _one_of(listed: str) -> str:
    """A pattern for one of the words or phrases, which may be patterns themselves."""
    return f"(?:{'|'.join(_words(listed))})"


# What could be seen

LABELS = re.compile(
    rf"\b{_one_of('step, phase, part, stage, task, milestone, version, sprint, iteration')}\s+\d+\b|\bv\d[\d.]*\b"
)
"""Numbers that only name something."""
NUMBER = re.compile(
    r"(?<![\w.])[-+]?\d|\b"
    + _one_of(
        "two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, fourteen, twenty, hundred, thousand"
    )
    + r"\b"
)
COMPARISON = re.compile(
    r"[=!<>]=|[<>≤≥]|\b"
    + _one_of("at (?:most|least), (?:more|less|fewer|longer|shorter|other) than, exactly, within, between")
    + r"\b"
)
OUTCOME = re.compile(
    r"\b"
    + _one_of(
        """returns?, returning, gives?, giving, raises?, raising, throws?, prints?, printing, exits?, yields?, equals?, responds?,
        answers?, answered, redirects?, rejects?, rejected, refuses?, refused, contains?, containing, matches, lists, counts,
        names, says, shows?, showing, reads, mentions, begins, starts, ends, cites, evaluates to, fails, locked"""
    )
    + r"\b|\btests?\b.*\b(?:pass|passes|succeeds?|run|runs)\b"
)
LITERAL = re.compile(
    r"`[^`]+`|\"[^\"]+\"|(?<!\w)'[^']+'(?!\w)|“[^”]+”|„[^“”]+[“”]|«[^»]+»|「[^」]+」"
    r"|\w\([^)]*\)|[\w/-]+\.[a-z]\w{0,4}\b|(?<!\w)/\w"
)
"""What is quoted, a call, a path: it names a thing to look at, if not yet what is to be seen there."""
BOUND = re.compile(
    r"\b"
    + _one_of(
        """every, each, no, none, nobody, nothing, nowhere, never, neither, nor, only, once, twice, without, not, cannot, both,
        first, last, same, empty, unchanged, sorted, itself, alone, exists?, imports?, uses, has, have, leaves, keeps, stays,
        overrides, deletes, before, after"""
    )
    + r"\b"
)
"""Words that make a plain sentence one that could be false."""

# What says nothing by itself

ADVERB = _one_of(
    """correctly, properly, appropriately, adequately, gracefully, successfully, seamlessly, smoothly, efficiently, effectively,
    reliably, accurately, nicely, perfectly, sensibly, suitably,
    as (?:expected|intended|needed|required|desired|appropriate|it should)"""
)
HOLLOW = _one_of(
    """correct, proper, appropriate, adequate, sufficient, suitable, reasonable, good, nice, great, fine, perfect, solid, clean,
    clear, concise, readable, maintainable, extensible, scalable, modular, flexible, robust, reliable, stable, efficient,
    performant, fast, quick, secure, safe, usable, user-friendly, easy to (?:use|read|understand|maintain), intuitive, responsive,
    accessible, attractive, appealing, modern, elegant, professional, engaging, fluent, natural, coherent, comprehensive,
    thorough, accurate, complete, ready(?: for use)?, fun(?: to play)?, nice to look at, of (?:a )?(?:high|good) quality,
    (?:well|properly) (?:structured|documented|organi[sz]ed|designed|written|tested|formatted|commented)"""
)
MAKE = _one_of(
    """implement, create, build, develop, write, add, make, design, set up, setup, define, handle, improve, optimi[sz]e, refactor,
    provide, support, validate, ensure, guarantee, enable, integrate, configure, test, document, prepare, polish, finish,
    complete, fix, generate, use, include, establish, introduce, clean up"""
)
OF_A_FUNCTION = _one_of(
    """is, are, was, were, has, must, should, can, may, cannot, never, only, does, puts?, takes, knows, leaves, makes, finds,
    writes, joins, tells, keeps, adds, uses, calls, allows, needs, works, stays, sets, goes, runs, reads, accepts, sorts, sums,
    converts, removes, replaces, turns, treats, ignores, skips, gives, returns, raises"""
)
ORDER = re.compile(rf"^(?:please )?(?:then )?{MAKE}(?= |$)(?! {OF_A_FUNCTION}\b)")
"""An order to make something; not where the verb is the name of a function that does something."""
DONE = re.compile(
    r"\b(?:is|are|was|were|has been|have been|gets?|(?:must|should|will|shall|to) be)(?: now| all| fully)? "
    + _one_of(
        """implemented, created, built, developed, written, added, made, completed, finished, done, set up, in place, defined,
        handled, integrated, provided, designed, configured, optimi[sz]ed, improved, taken into account, covered, supported,
        there, (?<=requirements are )met, (?<=needs are )met"""
    )
    + r"(?=[ .!]*$|[,;:]| and\b| with\b| (?:correctly|properly|successfully)\b)"
)
PRAISE = re.compile(
    rf"\b(?:works?|functions|functioned|behaves?|performs?|operates?|runs)(?: \w+){{0,3}}? (?:{ADVERB}|well|fine|right)\b"
    r"|\b(?:works|(?:should|must|will) work|functions)(?= *(?:[.,;!]|and\b|in all\b|for all\b|$))"
    rf"|\b(?:is|are|be|looks?|feels?|seems?|stays?|remains?)(?: (?:very|quite|fully|easily|really|always|both))? {HOLLOW}"
    r"(?=[ .,;!]*$|,| and | for (?:use|all)\b| under )"
)
INSIDE = re.compile(
    r"\b"
    + _one_of(
        """which, that, what, who, where, when, how, however, whether, as, after, before, until, once, if,
        no, nothing, never, none"""
    )
    + r"\b[^,;:]*$"
)
"""A clause inside a sentence, or a denial, up to where something is said to be done or to work: it claims no such thing."""
ADVERB_LAST = re.compile(rf"\b{ADVERB}(?: (?:and|or) {ADVERB})?[ .!]*$")
ENDS_WELL = re.compile(
    r"\b(runs?|executes?|compiles?|builds?|imports?|installs?|exits?|starts?|imported|installed) successfully\b"
)
"""A program that ends successfully tells so by its exit status."""
VAGUE_OUTCOME = re.compile(
    r"\b"
    + _one_of(
        """returns?, gives?, produces?, prints?, shows?, displays?, outputs?, yields?, raises?, throws?, provides?, generates?,
        does, fulfill?s?, meets?, satisf(?:y|ies), improves?, follows?"""
    )
    + r"\b(?: (?:a|an|the|its|their|all|any|user's|users'|right))* (?:"
    + _one_of(
        """correct, right, expected, proper, appropriate, desired, intended, accurate, good, meaningful, helpful, suitable,
        reasonable, useful, relevant"""
    )
    + r"(?: error)? "
    + _one_of(
        """results?, outputs?, values?, answers?, responses?, data, behaviou?r, errors?, exceptions?, messages?, feedback,
        things?"""
    )
    + r"|(?:user's )?(?:purpose|requirements?|needs?|expectations?|specifications?)"
    r"|(?:coding |current )?(?:best practices|conventions|performance)(?: (?:and conventions|significantly))?)\b"
    r"|\bwhat it (?:should|is supposed to|needs to|must)(?: do)?\b|\band so on\b|\betc\b|\bbest practices\b"
    r"|\bwithout (?:any )?(?:problems?|issues?|trouble)\b"
)
TOPICS = frozenset(
    _words(
        """api, app, application, authentication, authorisation, authorization, backend, basic, code, core, coverage, database,
        design, docs, documentation, error, errors, feature, features, form, forms, frontend, functionality, handling, input,
        integration, interface, layout, logging, login, logic, logout, management, model, module, page, parser, performance,
        project, quality, refactoring, registration, report, schema, script, search, security, setup, signup, structure, style,
        support, system, test, testing, tests, tool, ui, unit, usability, user, users, validation, website"""
    )
)
JOINING = frozenset(_words("good, proper, robust, clean, full, complete, of, and, the, a, for"))
"""A sentence of topics, and of words that join or praise them, is a heading."""
FOREIGN = frozenset(
    _words(
        """der, das, und, ist, sind, eine, einen, einem, nicht, wird, mit, für, auf, le, les, des, du, une, est, sont, avec, pour,
        el, los, las, una, es, son, para, il, gli, di, che, è, uma, não, het, een, niet, och, är, att, på, en, la, lo, un, se, te,
        ve, bir, için, nie, jest, oraz"""
    )
)
"""Words that tell that a sentence in Latin letters is not English."""


def vague(sentence: str) -> str:
    """The words that make a sentence vague, in lower case; empty where it says something that could be seen, or is not read."""
    text = ENDS_WELL.sub(r"\1", _folded(sentence))
    if not _english(text):
        return ""
    empty = [match.span() for match in _empty(text)]
    if not empty:
        return text if _heading(text) else ""
    rest = text
    for start, end in empty:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    first, last = empty[0]
    # "All 3 endpoints are implemented" counts what there is; a number of what is to be seen stands behind.
    if NUMBER.search(LABELS.sub(" ", rest[first:])) or COMPARISON.search(rest) or OUTCOME.search(rest):
        return ""
    return text[first:last].strip()


def testable(sentence: str) -> bool:
    """Whether a sentence names something that could be seen: a number, a literal, a comparison, an outcome, a bound.

    Numbers, literals and signs are known in every language, the rest in English. Never of one that is vague.
    """
    text = _folded(sentence)
    if vague(sentence):
        return False
    if NUMBER.search(LABELS.sub(" ", text)) or LITERAL.search(text) or COMPARISON.search(text):
        return True
    return _english(text) and any(pattern.search(text) for pattern in (OUTCOME, BOUND))


def _folded(sentence: str) -> str:
    text = unicodedata.normalize("NFKC", sentence[:LONGEST]).replace("\u2019", "'")
    return " ".join(text.split()).strip(" -*•").casefold()


def _english(text: str) -> bool:
    """Whether the sentence may be English: it has Latin letters without marks, and no word of another language."""
    bare = LITERAL.sub(" ", text)
    letters = [char for char in bare if char.isalpha()]
    if not letters or any(not char.isascii() for char in letters):
        return False
    return FOREIGN.isdisjoint(re.findall(r"[a-z]+", bare))


def _heading(text: str) -> bool:
    words = set(text.rstrip(".:").split())
    return len(words) <= LONGEST_HEADING and words <= (TOPICS | JOINING) and not TOPICS.isdisjoint(words)


def _empty(text: str) -> Iterator[re.Match[str]]:
    """What says nothing by itself, in the order of the rule's parts."""
    yield from ORDER.finditer(text)
    for pattern in (DONE, PRAISE):
        yield from (match for match in pattern.finditer(text) if not INSIDE.search(text, 0, match.start()))
    for pattern in (VAGUE_OUTCOME, ADVERB_LAST):
        yield from pattern.finditer(text)
