"""All habits by name: some are tried one by one, others only in random programs."""

from __future__ import annotations

from .attack_calls import CALLS
from .attack_kinds import Habit
from .attack_numbers import NUMBERS
from .attack_ours import ASKED, DECORATED, OURS, PATCHES
from .attack_places import MORE, ONCE

AIMED: list[Habit] = [*ONCE, *CALLS, *ASKED, *DECORATED, *PATCHES, *OURS, *NUMBERS]
HABITS: dict[str, Habit] = {h.name: h for h in [*AIMED, *MORE]}
assert len(HABITS) == len(AIMED) + len(MORE)
