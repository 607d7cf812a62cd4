"""The actions that our workflows use, each of the one commit that was looked at, and no other.

Each takes a job's seat and the step's `with`, and gives its outputs. A `with` that is not known here raises.
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

from evaluator.testing.workflows.caches import version_of
from evaluator.testing.workflows.expressions import WorkflowError
from evaluator.testing.workflows.machine import PATH
from evaluator.testing.workflows.seat import Seat
from evaluator.testing.workflows.shelf import chosen_files

Given = Mapping[str, str]
Emulated = Callable[[Seat, Given], dict[str, str]]


def _only(given: Given, *names: str) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise WorkflowError(f"with: this runner does not know {', '.join(unknown)}")


def _lines(text: str) -> list[str]:
    return [each.strip() for each in text.splitlines() if each.strip()]


def checkout(seat: Seat, given: Given) -> dict[str, str]:
    """Clone the event's commit, or a branch as it is now, as shallow as asked."""
    _only(given, "ref", "path", "fetch-depth", "persist-credentials", "repository")
    hosted, event = seat.event.hosted, seat.event
    if given.get("repository", hosted.full_name) != hosted.full_name:
        raise WorkflowError(f"checkout: this runner knows no repository but {hosted.full_name}")
    ref, commit = event.ref, event.commit
    asked = given.get("ref", "")
    if re.fullmatch("[0-9a-f]{40}", asked):
        commit = asked
    elif asked:
        ref = f"refs/heads/{asked}"
        commit = hosted.git.resolve(ref)
    folder = seat.machine.workspace / given.get("path", "")
    _empty(folder)
    _clone(seat, folder, ref, commit, int(given.get("fetch-depth", "1")))
    if given.get("persist-credentials", "true") != "false":
        _git(seat, folder, "config", "http.extraheader", f"AUTHORIZATION: bearer {seat.token}")
    return {"ref": ref, "commit": commit}


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _clone(seat: Seat, folder: Path, ref: str, commit: str, depth: int) -> None:
    local = ref.replace("refs/heads/", "refs/remotes/origin/").replace("refs/pull/", "refs/remotes/pull/")
    _git(seat, folder, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(seat, folder, "remote", "add", "origin", f"file://{seat.event.hosted.git.folder}")
    shallow = [f"--depth={depth}"] if depth else []
    refs = [f"+{commit}:{local}", *([] if depth else ["+refs/heads/*:refs/remotes/origin/*"])]
    _git(seat, folder, "fetch", "--quiet", "--no-tags", *shallow, "origin", *dict.fromkeys(refs))
    branch = ref.removeprefix("refs/heads/")
    if branch == ref:
        _git(seat, folder, "checkout", "--quiet", "--force", "--detach", local)
    else:
        _git(seat, folder, "checkout", "--quiet", "--force", "-B", branch, local)


def _git(seat: Seat, folder: Path, *words: str) -> None:
    around = {**seat.machine.environment(), "PATH": PATH, "GIT_CONFIG_NOSYSTEM": "1"}
    asked = ["git", "-c", "advice.detachedHead=false", "-C", str(folder), *words]
    run = subprocess.run(asked, env=around, capture_output=True, check=False)
    if run.returncode:
        raise WorkflowError(f"git {' '.join(words)}: {run.stderr.decode(errors='replace').strip()}")


def setup_python(seat: Seat, given: Given) -> dict[str, str]:
    """Put the present interpreter before all others; the version that is asked for is not looked at."""
    _only(given, "python-version")
    programs = seat.machine.install_python()
    seat.paths.insert(0, str(programs))
    version = ".".join(map(str, sys.version_info[:3]))
    return {"python-version": version, "python-path": str(programs / "python"), "cache-hit": "false"}


def restore_cache(seat: Seat, given: Given) -> dict[str, str]:
    """Put back what an entry that the run may read holds."""
    _only(given, "path", "key", "restore-keys")
    paths, keys = _lines(given["path"]), [given["key"], *_lines(given.get("restore-keys", ""))]
    found = seat.caches.find(seat.event.hosted.id, seat.event.scopes, keys, version_of(paths))
    if found:
        seat.caches.restore(found, seat.machine.workspace)
    hit = "" if found is None else "true" if found.key == given["key"] else "false"
    return {"cache-hit": hit, "cache-primary-key": given["key"], "cache-matched-key": found.key if found else ""}


def save_cache(seat: Seat, given: Given) -> dict[str, str]:
    """Keep files under a key of the run's own scope; one that is there already stays, which is only said."""
    _only(given, "path", "key")
    paths, root = _lines(given["path"]), seat.machine.workspace
    missing = [each for each in paths if not (root / each).exists()]
    whose = (seat.event.hosted.id, seat.event.scopes[0])
    if missing:
        seat.log.say(f"cache: there is no {', '.join(missing)}; nothing is saved")
    elif not seat.caches.save(*whose, given["key"], version_of(paths), root, paths):
        seat.log.say(f"cache: {given['key']} is there already; nothing is saved")
    return {}


def cache(seat: Seat, given: Given) -> dict[str, str]:
    """Restore now, and save at the end of a job that failed nowhere, unless the key was found."""
    outputs = restore_cache(seat, given)
    kept = {name: value for name, value in given.items() if name != "restore-keys"}

    def save() -> None:
        if outputs["cache-hit"] != "true" and not seat.failed:
            save_cache(seat, kept)

    seat.after.append(save)
    return outputs


def upload_artifact(seat: Seat, given: Given) -> dict[str, str]:
    """Upload files and folders under a name that the run must not have yet."""
    known = ("name", "path", "if-no-files-found", "retention-days", "compression-level", "overwrite")
    _only(given, *known, "include-hidden-files")
    hidden = given.get("include-hidden-files", "false") == "true"
    files = chosen_files(seat.machine.workspace, _lines(given["path"]), hidden=hidden)
    name = given.get("name", "artifact")
    if not files:
        said = f"artifact {name!r}: no file is at {given['path']!r}"
        if given.get("if-no-files-found", "warn") == "error":
            raise WorkflowError(said)
        seat.log.say(said)
        return {"artifact-id": "", "artifact-digest": "", "artifact-url": ""}
    if given.get("overwrite") == "true":
        seat.shelf.remove(name)
    made = seat.shelf.put(name, files)
    return {"artifact-id": str(made.id), "artifact-digest": "", "artifact-url": ""}


def download_artifact(seat: Seat, given: Given) -> dict[str, str]:
    """Unpack one artifact of the run, by its name."""
    _only(given, "name", "path")
    folder = seat.machine.workspace / given.get("path", "")
    seat.shelf.take(given["name"], folder)
    return {"download-path": str(folder)}


def configure_pages(seat: Seat, given: Given) -> dict[str, str]:
    """Say where the site will be."""
    _only(given)
    seat.may("pages", "read")
    origin = f"https://{seat.event.hosted.owner.login}.github.io"
    path = f"/{seat.event.hosted.name}"
    return {"base_url": origin + path, "origin": origin, "host": origin.removeprefix("https://"), "base_path": path}


def upload_pages_artifact(seat: Seat, given: Given) -> dict[str, str]:
    """Upload a folder as the tar that Pages takes."""
    _only(given, "path", "retention-days")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as archive:
        archive.add(seat.machine.workspace / given.get("path", "_site/"), ".")
    made = seat.shelf.put("github-pages", {"artifact.tar": packed.getvalue()})
    return {"artifact_id": str(made.id)}


def deploy_pages(seat: Seat, given: Given) -> dict[str, str]:
    """Put the uploaded site in the place of the one before."""
    _only(given)
    seat.may("pages", "write")
    seat.may("id_token", "write")
    if not seat.job.environment:
        raise WorkflowError("deploy-pages: the job names no environment")
    taken = seat.machine.temp / "pages"
    seat.shelf.take("github-pages", taken)
    _empty(seat.site)
    with tarfile.open(taken / "artifact.tar") as archive:
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
"""By what stands behind `uses:`."""
