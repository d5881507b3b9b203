"""What of names and addresses leaves the house: one map per run between names and what a model hears instead."""

from patrol.agent.privacy.choice import privacy_in_force
from patrol.agent.privacy.names import Named
from patrol.agent.privacy.provider import ShroudedProvider, shrouded
from patrol.agent.privacy.shroud import Shroud
from patrol.agent.privacy.vocabulary import words_of

__all__ = ["Named", "Shroud", "ShroudedProvider", "privacy_in_force", "shrouded", "words_of"]
