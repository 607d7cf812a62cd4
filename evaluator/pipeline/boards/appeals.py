"""Where a verdict is appealed: the issue form of the repository, as far as anybody knows where that is."""

from __future__ import annotations

from collections.abc import Mapping

from evaluator.github.forms import appeal_address, split_address
from evaluator.leaderboard.board import Appeal
from evaluator.pipeline.project import Project


def repository_of(project: Project, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Server and repository: of the job that this runs in, otherwise by `repo_url` of mkdocs.yml; None by neither."""
    path = project.root / "mkdocs.yml"
    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    if not (server and repository) and path.is_file():
        from mkdocs.utils.yaml import yaml_load

        with path.open("rb") as file:
            return split_address(str(yaml_load(file).get("repo_url") or ""))
    return split_address(f"{server}/{repository}")


def appeal_form(project: Project, suite: str, environ: Mapping[str, str]) -> Appeal | None:
    """The form for verdicts of one suite; None where nobody knows where the repository is."""
    found = repository_of(project, environ)
    if found is None:
        return None
    server, repository = found

    def address(submission: str, task: str | None, rank: int | None) -> str:
        return appeal_address(server, repository, submission=submission, suite=suite, task=task, rank=rank)

    return address
