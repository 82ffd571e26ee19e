"""All mutants, stage by stage: MUTANTS."""
from . import particles, lists, predict, force, bricks, steps, output, ranks  # each adds its own
from .killers import MUTANTS
