"""One function a subcommand: the place and the arguments in, a `View` out. Their signatures are the grammar of ``%pge``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..display import View
from . import (
    away,
    calibrating,
    configuring,
    confirming,
    doctor,
    drifting,
    earlier,
    estimating,
    every_day,
    examining,
    exporting,
    house,
    improving,
    labelling,
    opening,
    phase_cells,
    probing,
    raters,
    saving,
    use_it,
    verifying,
)
from .helping import help_
from .here import Here, notebook_directory

__all__ = ["COMMANDS", "GROUPS", "Here", "notebook_directory"]

Command = Callable[..., View]

GROUPS: Mapping[str, Mapping[str, Command]] = {
    "every day": {
        "run": every_day.run,
        "show": every_day.show,
        "resume": every_day.resume,
        "stop": away.stop,
        "answer": every_day.answer,
        "help": help_,
    },
    "use it": {
        "load": use_it.load,
        "files": use_it.files,
        "diff": use_it.diff,
        "restore": use_it.restore,
        "runs": earlier.runs,
        "open": opening.open_,
        "save": saving.save,
        "tasks": use_it.tasks,
        "estimate": estimating.estimate,
    },
    "phases": {
        "plan": phase_cells.plan,
        "contract": phase_cells.contract,
        "generate": phase_cells.generate,
        "evaluate": phase_cells.evaluate,
        "confirm": confirming.confirm,
    },
    "judge the judge": {
        "label": labelling.label,
        "import": labelling.import_,
        "rater": raters.rater,
        "raters": raters.raters,
        "regrade": raters.regrade,
        "calibrate": calibrating.calibrate,
        "exam": examining.exam,
        "improve": improving.improve,
        "probe": probing.probe,
        "drift": drifting.drift,
        "card": calibrating.card,
    },
    "house": {
        "model": house.model,
        "key": house.key,
        "config": configuring.config,
        "new": house.new,
        "verify": verifying.verify,
        "doctor": doctor.doctor,
        "export": exporting.export,
    },
}
COMMANDS: Mapping[str, Command] = {name: command for group in GROUPS.values() for name, command in group.items()}
