"""All mutants, stage by stage: MUTANTS."""
from . import particles, lists, predict, force, bricks, steps, output  # each adds its own
from .killers import MUTANTS
