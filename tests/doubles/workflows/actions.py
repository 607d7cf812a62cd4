"""Doubles of the actions that the workflows use. Each action has only the commit that a maintainer reviewed.

An action takes the job and the `with` of the step, and returns the outputs. An unknown input raises WorkflowError.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.doubles.workflows.artifact_store import chosen_files
from tests.doubles.workflows.caches import version_of
from tests.doubles.workflows.expressions import WorkflowError
from tests.doubles.workflows.job_context import JobContext
from tests.doubles.workflows.job_machine import PATH

Inputs = Mapping[str, str]
Emulated = Callable[[JobContext, Inputs], dict[str, str]]


def _only(inputs: Inputs, *names: str) -> None:
    unknown = sorted(set(inputs) - set(names))
    if unknown:
        raise WorkflowError(f"with: this runner does not know {', '.join(unknown)}")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def checkout(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Clone the commit of the event, a requested commit, or the present commit of a branch, to the requested depth."""
    _only(inputs, "ref", "path", "fetch-depth", "persist-credentials", "repository")
    hosted, event = seat.event.hosted, seat.event
    if inputs.get("repository", hosted.full_name) != hosted.full_name:
        raise WorkflowError(f"checkout: this runner knows only the repository {hosted.full_name}")
    ref, commit = event.ref, event.commit
    requested = inputs.get("ref", "")
    if re.fullmatch("[0-9a-f]{40}", requested):
        commit = requested
    elif requested:
        ref = f"refs/heads/{requested}"
        commit = hosted.git.resolve(ref)
    folder = seat.machine.workspace / inputs.get("path", "")
    _empty(folder)
    _clone(seat, folder, ref, commit, int(inputs.get("fetch-depth", "1")))
    if inputs.get("persist-credentials", "true") != "false":
        _git(seat, folder, "config", "http.extraheader", f"AUTHORIZATION: bearer {seat.token}")
    return {"ref": ref, "commit": commit}


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _clone(seat: JobContext, folder: Path, ref: str, commit: str, depth: int) -> None:
    local = ref.replace("refs/heads/", "refs/remotes/origin/").replace("refs/pull/", "refs/remotes/pull/")
    _git(seat, folder, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(seat, folder, "remote", "add", "origin", f"file://{seat.event.hosted.git.folder}")
    fetch = ("fetch", "--quiet", "--no-tags")
    if (
        not depth
    ):  # the branch may have moved since the event, so the action fetches the event's commit after all branches
        _git(seat, folder, *fetch, "origin", "+refs/heads/*:refs/remotes/origin/*")
    _git(seat, folder, *fetch, *([f"--depth={depth}"] if depth else []), "origin", f"+{commit}:{local}")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref:
        _git(seat, folder, "checkout", "--quiet", "--force", "--detach", local)
    else:
        _git(seat, folder, "checkout", "--quiet", "--force", "-B", branch, local)


def _git(seat: JobContext, folder: Path, *words: str) -> None:
    variables = {**seat.machine.environment(), "PATH": PATH, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "advice.detachedHead=false", "-C", str(folder), *words]
    run = subprocess.run(command, env=variables, capture_output=True, check=False)
    if run.returncode:
        raise WorkflowError(f"git {' '.join(words)}: {run.stderr.decode(errors='replace').strip()}")


def setup_python(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Put the present interpreter first on the path. The requested version is ignored."""
    _only(inputs, "python-version")
    programs = seat.machine.install_python()
    seat.paths.insert(0, str(programs))
    version = ".".join(map(str, sys.version_info[:3]))
    return {"python-version": version, "python-path": str(programs / "python"), "cache-hit": "false"}


def restore_cache(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Restore the files of the matching cache entry."""
    _only(inputs, "path", "key", "restore-keys")
    paths, keys = _lines(inputs["path"]), [inputs["key"], *_lines(inputs.get("restore-keys", ""))]
    entry = seat.caches.find(seat.event.hosted.id, seat.event.scopes, keys, version_of(paths))
    if entry:
        seat.caches.restore(entry, seat.machine.workspace)
    hit = "" if entry is None else "true" if entry.key == inputs["key"] else "false"
    return {"cache-hit": hit, "cache-primary-key": inputs["key"], "cache-matched-key": entry.key if entry else ""}


def save_cache(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Save files under a key in the scope of the run. An existing entry is kept, and a line of the log reports that."""
    _only(inputs, "path", "key")
    paths, root = _lines(inputs["path"]), seat.machine.workspace
    missing = [path for path in paths if not (root / path).exists()]
    owner = (seat.event.hosted.id, seat.event.scopes[0])
    if missing:
        seat.log.say(f"cache: there is no {', '.join(missing)}; nothing is saved")
    elif not seat.caches.save(*owner, inputs["key"], version_of(paths), root, paths):
        seat.log.say(f"cache: {inputs['key']} is there already; nothing is saved")
    return {}


def cache(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Restore files at once. Save them at the end of a successful job unless the key has an entry."""
    outputs = restore_cache(seat, inputs)
    to_save = {name: value for name, value in inputs.items() if name != "restore-keys"}

    def save() -> None:
        if outputs["cache-hit"] != "true" and not seat.failed:
            save_cache(seat, to_save)

    seat.after.append(save)
    return outputs


def upload_artifact(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Upload files and folders as an artifact. Only `overwrite` replaces an artifact of the same name."""
    known = ("name", "path", "if-no-files-found", "retention-days", "compression-level", "overwrite")
    _only(inputs, *known, "include-hidden-files")
    hidden = inputs.get("include-hidden-files", "false") == "true"
    files = chosen_files(seat.machine.workspace, _lines(inputs["path"]), hidden=hidden)
    name = inputs.get("name", "artifact")
    if not files:
        message = f"artifact {name!r}: no file is at {inputs['path']!r}"
        if inputs.get("if-no-files-found", "warn") == "error":
            raise WorkflowError(message)
        seat.log.say(message)
        return {"artifact-id": "", "artifact-digest": "", "artifact-url": ""}
    if inputs.get("overwrite") == "true":
        seat.shelf.remove(name)
    artifact = seat.shelf.put(name, files)
    return {"artifact-id": str(artifact.id), "artifact-digest": "", "artifact-url": ""}


def download_artifact(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Unpack one artifact of the run, by its name."""
    _only(inputs, "name", "path")
    folder = seat.machine.workspace / inputs.get("path", "")
    seat.shelf.take(inputs["name"], folder)
    return {"download-path": str(folder)}


def configure_pages(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Return the address of the site."""
    _only(inputs)
    seat.may("pages", "read")
    origin = f"https://{seat.event.hosted.owner.login}.github.io"
    path = f"/{seat.event.hosted.name}"
    return {"base_url": origin + path, "origin": origin, "host": origin.removeprefix("https://"), "base_path": path}


def upload_pages_artifact(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Upload a folder as a tar archive, the format of GitHub Pages."""
    _only(inputs, "path", "retention-days")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as archive:
        archive.add(seat.machine.workspace / inputs.get("path", "_site/"), ".")
    artifact = seat.shelf.put("github-pages", {"artifact.tar": packed.getvalue()})
    return {"artifact_id": str(artifact.id)}


def deploy_pages(seat: JobContext, inputs: Inputs) -> dict[str, str]:
    """Replace the deployed site by the uploaded one."""
    _only(inputs)
    seat.may("pages", "write")
    seat.may("id_token", "write")
    if not seat.job.environment:
        raise WorkflowError("deploy-pages: the job names no environment")
    folder = seat.machine.temp / "pages"
    seat.shelf.take("github-pages", folder)
    _empty(seat.site)
    with tarfile.open(folder / "artifact.tar") as archive:
        archive.extractall(seat.site, filter="data")
    return {"page_url": configure_pages(seat, {})["base_url"] + "/"}


ACTIONS: Final[Mapping[str, Emulated]] = {
    "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1": checkout,
    "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97": setup_python,
    "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae": cache,
    "actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae": restore_cache,
    "actions/cache/save@27d5ce7f107fe9357f9df03efb73ab90386fccae": save_cache,
    "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f": upload_artifact,
    "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c": download_artifact,
    "actions/configure-pages@983d7736d9b0ae728b81ab479565c72886d7745b": configure_pages,
    "actions/upload-pages-artifact@fc324d3547104276b827a68afc52ff2a11cc49c9": upload_pages_artifact,
    "actions/deploy-pages@cd2ce8fcbc39b97be8ca5fce6e763baed58fa128": deploy_pages,
}
"""The emulated actions, by the text of `uses:`."""
