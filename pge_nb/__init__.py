"""Run planner, generator and evaluator over one shared state file from notebook cells, and measure the evaluator."""

__version__ = "0.1.0"
