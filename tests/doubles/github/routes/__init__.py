"""The operations of the double, each with its address, needed permissions and response.

The double has only the operations that the client uses. Any other address gets 404, as on GitHub.
"""

from typing import Final

from tests.doubles.github.routes import git, issues, pulls, runs
from tests.doubles.github.routes.api_request import ApiRequest, ApiResponse, Refused, Route
from tests.doubles.github.routes.git import TREE_ENTRIES

ROUTES: Final = (*pulls.ROUTES, *git.ROUTES, *issues.ROUTES, *runs.ROUTES)

__all__ = ["ROUTES", "TREE_ENTRIES", "ApiRequest", "ApiResponse", "Refused", "Route"]
