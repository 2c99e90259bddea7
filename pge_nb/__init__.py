"""Run planner, generator and evaluator over one shared state file from notebook cells, and measure the evaluator."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import calibration as calibration
    from . import studies as studies
    from .agents.evaluator import Evaluator as Evaluator
    from .agents.generator import Generator as Generator
    from .agents.planner import Planner as Planner
    from .config import HarnessConfig as HarnessConfig
    from .harness import PGEHarness as PGEHarness
    from .harness import PlannerGeneratorEvaluator as PlannerGeneratorEvaluator
    from .records import EvaluationReport as EvaluationReport
    from .records import Plan as Plan
    from .records import StepContract as StepContract
    from .results import HarnessResult as HarnessResult
    from .run import Run as Run
    from .skills import Skill as Skill
    from .skills.registry import SkillRegistry as SkillRegistry
    from .state import open_run as open_run
    from .state import open_runs as open_runs

__version__ = "0.1.0"

# Imported when they are first asked for: %load_ext must not wait for pandas, matplotlib or a service's SDK.
_PLACES = {
    "PGEHarness": ".harness",
    "PlannerGeneratorEvaluator": ".harness",
    "HarnessResult": ".harness",
    "HarnessConfig": ".config",
    "Planner": ".agents.planner",
    "Generator": ".agents.generator",
    "Evaluator": ".agents.evaluator",
    "Plan": ".records",
    "StepContract": ".records",
    "EvaluationReport": ".records",
    "Run": ".run",
    "Skill": ".skills",
    "SkillRegistry": ".skills.registry",
    "open_run": ".state",
    "open_runs": ".state",
    "calibration": ".calibration",
    "studies": ".studies",
}


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext pge_nb``: bring ``%pge`` and ``%%pge``."""
    from .magic import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext pge_nb``: take them away again."""
    from .magic import unload

    unload(shell)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_PLACES[name], __name__)
    return module if name in {"calibration", "studies"} else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*_PLACES, "load_ipython_extension", "unload_ipython_extension", "__version__"})
