"""Stage 5: what the model starts from, worst first, and cut to what it can read at once."""

from patrol.run.seed.build import build_seed
from patrol.run.seed.changes import Changes, StateChange, changes_of
from patrol.run.seed.model import Seed, SeedFacts
from patrol.run.seed.opening import SeedOpening
from patrol.run.seed.shrouding import run_shroud
from patrol.run.seed.window import seed_tokens, tokens_after_overflow

__all__ = [
    "Changes",
    "Seed",
    "SeedFacts",
    "SeedOpening",
    "StateChange",
    "build_seed",
    "changes_of",
    "run_shroud",
    "seed_tokens",
    "tokens_after_overflow",
]
