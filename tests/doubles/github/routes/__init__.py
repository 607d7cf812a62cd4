"""The requests that the double answers: where, by whose leave, and with what.

An answer of GitHub's that our client does not ask for is not here: an unknown address is 404, as there.
"""

from typing import Final

from tests.doubles.github.routes import git, issues, pulls, runs
from tests.doubles.github.routes.api_request import ApiRequest, ApiResponse, Refused, Route
from tests.doubles.github.routes.git import TREE_ENTRIES

ROUTES: Final = (*pulls.ROUTES, *git.ROUTES, *issues.ROUTES, *runs.ROUTES)

__all__ = ["ROUTES", "TREE_ENTRIES", "ApiRequest", "ApiResponse", "Refused", "Route"]
