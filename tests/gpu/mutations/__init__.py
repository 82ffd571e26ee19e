"""All mutants, stage by stage: MUTANTS."""
from . import particles, lists, predict, force, bricks, steps, output, pairs, ranks  # each adds its own
from .killers import MUTANTS
