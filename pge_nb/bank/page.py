"""Practice task: a web page that works out how much paint a room needs."""

from __future__ import annotations

from .oracles.page import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_browser, by_file, by_judge, by_oracle, criterion, planned

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>How much paint?</title>
<script src="app.js" defer></script>
</head>
<body>
<h1>How much paint?</h1>
<form id="room" novalidate>
<p><label for="length">Length of the room in metres</label> <input id="length" type="number" min="0" step="0.1"></p>
<p><label for="width">Width of the room in metres</label> <input id="width" type="number" min="0" step="0.1"></p>
<p><label for="height">Height of the walls in metres</label> <input id="height" type="number" min="0" step="0.1"></p>
<p><label for="openings">Doors and windows in square metres</label> <input id="openings" type="number" min="0" step="0.1"></p>
<p><label for="coats">Coats</label> <input id="coats" type="number" min="1" step="1" value="2"></p>
<p><button id="work" type="submit">Work it out</button></p>
</form>
<p role="status" id="answer"></p>
</body>
</html>
"""

SCRIPT = """"use strict";

const PER_LITRE = 10; // Square metres that a litre covers once.
const TIN = 2.5; // Litres in a tin.

/** The walls of a room without its doors and windows, in square metres; never less than 0. */
function walls(length, width, height, openings) {
  return Math.max(0, 2 * (length + width) * height - openings);
}

/** Whole tins for so many litres. */
function tins(litres) {
  return Math.ceil(litres / TIN);
}

/** What was typed into a field, as a number; an empty field is 0. */
function typed(id) {
  return Number(document.getElementById(id).value);
}

/** Answer the form. */
function answer(event) {
  event.preventDefault();
  const shown = document.getElementById("answer");
  const length = typed("length");
  const width = typed("width");
  const height = typed("height");
  const coats = typed("coats");
  if (!(length > 0 && width > 0 && height > 0)) {
    shown.textContent = "Please give length, width and height.";
    return;
  }
  if (!(coats >= 1)) {
    shown.textContent = "Please give at least one coat.";
    return;
  }
  const litres = walls(length, width, height, typed("openings")) * coats / PER_LITRE;
  const count = tins(litres);
  shown.textContent = litres.toFixed(1) + " litres, that is " + count + (count === 1 ? " tin" : " tins") + " of 2.5 litres.";
}

document.getElementById("room").addEventListener("submit", answer);
"""

STEP_1 = PracticeStep(
    number=1,
    deliverables=("index.html", "app.js"),
    checks=(
        by_oracle(
            "The page answers any room with the right litres and tins, and asks for what is missing.", "page/answer"
        ),
        by_oracle("Every field has its label, its kind and its least value.", "page/form"),
        by_browser(
            "A visitor types in a room, clicks, and sees how much paint it takes.",
            "index.html",
            see=["How much paint?", "Work it out"],
            do=[
                {"fill": "#length", "with": "5"},
                {"fill": "#width", "with": "4"},
                {"fill": "#height", "with": "2.5"},
                {"fill": "#openings", "with": "5"},
                {"click": "#work"},
            ],
            then=["8.0 litres, that is 4 tins"],
        ),
        by_file("The page loads nothing from elsewhere.", "index.html", matches=r"\A(?![\s\S]*(?:src|href)=.https?:)"),
        by_judge("app.js says in a comment what each of its numbers means."),
    ),
    first_checks=(0, 1, 2, 4),
    objection="It must work without a network as well: add a check that the page loads nothing from elsewhere.",
    solution={"index.html": PAGE, "app.js": SCRIPT},
    defects=(
        Defect(
            id="script-not-found",
            says="The page loads script.js, and the script is called app.js: the button does nothing.",
            path="index.html",
            old='src="app.js"',
            new='src="script.js"',
            breaks=("c1", "c3"),
            costs={"correctness": 6.0},
        ),
        Defect(
            id="numbers-as-text",
            says="The fields are read as text, so a length of 5 and a width of 4 add up to 54.",
            path="app.js",
            old="return Number(document.getElementById(id).value);",
            new="return document.getElementById(id).value;",
            breaks=("c1", "c3"),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="openings-forgotten",
            says="Doors and windows are painted as well.",
            path="app.js",
            old=" * height - openings);",
            new=" * height);",
            breaks=("c1", "c3"),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="tins-rounded",
            says="Tins are rounded to the nearest number, so the paint may not do.",
            path="app.js",
            old="Math.ceil(litres / TIN)",
            new="Math.round(litres / TIN)",
            breaks=("c1", "c3"),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="less-than-nothing",
            says="Openings that are larger than the walls give litres below 0.",
            path="app.js",
            old="return Math.max(0, 2 *",
            new="return (2 *",
            breaks=("c1",),
            costs={"correctness": 1.5, "use": 1.0},
        ),
        Defect(
            id="one-tins",
            says='The page says "1 tins".',
            path="app.js",
            old='(count === 1 ? " tin" : " tins")',
            new='" tins"',
            breaks=("c1",),
            costs={"use": 2.0},
        ),
        Defect(
            id="height-not-asked",
            says="A room without a height gets an answer of 0 litres instead of a question.",
            path="app.js",
            old=" && width > 0 && height > 0)",
            new=" && width > 0)",
            breaks=("c1",),
            costs={"use": 2.5},
        ),
        Defect(
            id="no-coat-painted",
            says="The script guards against too many coats and lets 0 and negative numbers of them through.",
            path="app.js",
            old="if (!(coats >= 1)) {",
            new="if (coats > 20) {",
            breaks=("c1",),
            costs={"use": 2.5},
        ),
        Defect(
            id="label-to-nowhere",
            says="The label of the width belongs to no field, so a screen reader does not say it.",
            path="index.html",
            old='<label for="width">',
            new='<label for="breadth">',
            breaks=("c2",),
            costs={"use": 2.5},
        ),
        Defect(
            id="field-of-text",
            says="The height is a field for any text.",
            path="index.html",
            old='<input id="height" type="number" min="0" step="0.1">',
            new='<input id="height" type="text">',
            breaks=("c2",),
            costs={"use": 2.0},
        ),
        Defect(
            id="font-from-elsewhere",
            says="The page loads a font from another site.",
            path="index.html",
            old="<title>How much paint?</title>\n",
            new='<title>How much paint?</title>\n<link rel="stylesheet" href="https://fonts.example.org/paint.css">\n',
            breaks=("c4",),
            costs={"use": 2.0},
        ),
        Defect(
            id="numbers-unexplained",
            says="app.js does not say what its 10 and its 2.5 mean.",
            path="app.js",
            old="const PER_LITRE = 10; // Square metres that a litre covers once.\nconst TIN = 2.5; // Litres in a tin.\n",
            new="const PER_LITRE = 10;\nconst TIN = 2.5;\n",
            breaks=("c5",),
            costs={"clarity": 1.5},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="page",
    title="A web page that works out paint",
    prompt=(
        "People keep asking in our shop how much paint they need."
        " Please make a web page (index.html and app.js, no framework, nothing loaded from elsewhere) where they type in"
        " length, width and height of a room, doors and windows in square metres and the number of coats, and see litres"
        " and tins of 2.5 litres."
        " A litre covers ten square metres; if something is missing, the page should ask for it."
    ),
    plan={
        "title": "A web page that works out paint",
        "scope": "One page with a form, labels and an answer, and one script that works out litres and tins.",
        "deliverables": ["index.html", "app.js"],
        "steps": [planned("Make the page and its script.", STEP_1, skill="web", kind="web page")],
        "criteria": [
            criterion("correctness", "Enough paint for every room, and no tin too many.", "high"),
            criterion(
                "use", "Every field is labelled and asked for in plain words; works without a mouse and a network."
            ),
            criterion("clarity", "Markup and script read well: names, comments that say what numbers mean.", "low"),
        ],
    },
    steps=(STEP_1,),
    oracles=ORACLES,
)
