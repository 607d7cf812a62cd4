"""Choose the voters on a submission: the panel's models in turn, except models that the submission declares as its own.

Without this exclusion, a model would judge its own answers. The exclusion applies only to this submission, even if
another submission contains the same command. Otherwise a contributor could declare a model in order to exclude it from
votes on another contributor's submission.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from evaluator.judges.panel.settings import PanelSettings
from evaluator.model_server.client_settings import PricedModel


class Voter(NamedTuple):
    """A voter: a model, and the seed with which the panel asks this model."""

    model: PricedModel
    seed: int


def voters_for(settings: PanelSettings, own: Collection[str]) -> tuple[Voter, ...]:
    """Return a voter for each vote, from the models that are not in `own`. Return no voters if no model is left."""
    models = [model for model in settings.models if not is_own(model.name, own)]
    if not models:
        return ()
    return tuple(
        Voter(models[vote % len(models)], settings.seed + vote // len(models)) for vote in range(settings.votes)
    )


def is_own(model: str, own: Collection[str]) -> bool:
    """Return whether `own`, the names that a submission declares as its own models, includes this model.

    The comparison ignores case, the name of the maker (`maker/`), and a suffix that only one name has (`-2024-08-06`,
    `:free`). It is better to exclude one model too many than to let a model judge itself.
    """
    return any(_is_same_family(_plain(model), _plain(name)) for name in own)


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().rpartition("/")[2].casefold())


def _is_same_family(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and long.startswith(short) and (len(long) == len(short) or long[len(short)] in "-:@")
