"""Who votes on a submission: the panel's models in turn, without those that the submission names as its own.

A model would judge its own answers, so a submission's models are barred for that submission alone. Barring
them for everyone who gave the same command would let a stranger choose another's judges.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from evaluator.judges.panel.settings import PanelModel, PanelSettings


class Voter(NamedTuple):
    """One vote: a model and the seed it is asked with."""

    model: PanelModel
    seed: int


def voters_for(settings: PanelSettings, own: Collection[str]) -> tuple[Voter, ...]:
    """As many seats as there are votes, however many models `own` leaves; none where it leaves no model."""
    models = [model for model in settings.models if not is_own(model.name, own)]
    if not models:
        return ()
    return tuple(
        Voter(models[vote % len(models)], settings.seed + vote // len(models)) for vote in range(settings.votes)
    )


def is_own(model: str, own: Collection[str]) -> bool:
    """True where a name in `own` means this model, as far as names tell.

    Makers' prefixes (`maker/`), upper case and what follows the shorter name (`-2024-08-06`, `:free`) do not
    matter: to spare a judge too many costs less than to seat a player.
    """
    return any(_is_same_family(_plain(model), _plain(name)) for name in own)


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().rpartition("/")[2].casefold())


def _is_same_family(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and long.startswith(short) and (len(long) == len(short) or long[len(short)] in "-:@")
