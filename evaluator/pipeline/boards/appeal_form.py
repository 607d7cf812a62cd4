"""Find the repository's address, and make links to its issue form for appeals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.github.forms import appeal_address, split_address
from evaluator.pipeline.project import Project


@dataclass(frozen=True)
class AppealForm:
    """The appeal form of a suite in a repository on a web server. It is a value, so other processes get it as well."""

    server: str
    repository: str
    suite: str

    def __call__(self, submission: str, task: str | None, rank: int | None) -> str:
        """Return the address of the form for a submission and, if given, a task and a rank."""
        return appeal_address(
            self.server, self.repository, submission=submission, suite=self.suite, task=task, rank=rank
        )


def appeal_form(location: tuple[str, str] | None, suite: str) -> AppealForm | None:
    """Return the appeal form of a suite, or None if the server and the repository are unknown."""
    return None if location is None else AppealForm(*location, suite)


def repository_address(project: Project, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the web server and the name of the project's repository, or None if they are unknown.

    In a GitHub Actions job, environment variables state them. Otherwise, they come from `repo_url` in mkdocs.yml.
    """
    path = project.root / "mkdocs.yml"
    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    if not (server and repository) and path.is_file():
        from mkdocs.utils.yaml import yaml_load

        with path.open("rb") as file:
            return split_address(str(yaml_load(file).get("repo_url") or ""))
    return split_address(f"{server}/{repository}")
