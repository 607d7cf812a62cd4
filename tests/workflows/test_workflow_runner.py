"""The local runner of workflow files behaves like GitHub, and refuses everything that it does not support."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from typing import Any

import pytest

from tests.doubles.github import Link
from tests.doubles.workflows import JobContext, WorkflowError, completed, dispatched, labeled, pull_changed, pushed
from tests.workflows.workflow_bench import CACHE, CHECKOUT, DOWNLOAD, PYTHON, UPLOAD, WorkflowHarness, job, workflow

SAY = 'run: echo "$GITHUB_JOB ran"'
TEMP = "${{ runner.temp }}"
SAVE, RESTORE = (CACHE.replace("cache@", f"cache/{half}@") for half in ("save", "restore"))


def conclusions(harness: WorkflowHarness, jobs: str) -> dict[str, str]:
    return {name: result.conclusion for name, result in harness.run(jobs).jobs.items()}


def test_order_and_outputs(harness: WorkflowHarness) -> None:
    """A job runs after the jobs that it needs, and reads their outputs."""
    first = job(
        "first",
        "{id: a, run: 'echo word=said >> \"$GITHUB_OUTPUT\"'}",
        more="outputs: {word: '${{ steps.a.outputs.word }}'}\n",
    )
    second = job(
        "second", "{run: 'echo \"$WORD\"', env: {WORD: '${{ needs.first.outputs.word }}'}}", more="needs: first\n"
    )
    result = harness.run(second + first)
    assert list(result.jobs) == ["first", "second"]
    assert "said\n" in result.jobs["second"].log
    assert [job.name for job in result.run.jobs] == ["first", "second"]


@pytest.mark.parametrize(
    ("second", "third", "expected"),
    [
        ("", "", ("skipped", "skipped")),
        ("if: ${{ !cancelled() }}\n", "", ("success", "skipped")),
        (
            "if: ${{ !cancelled() }}\n",
            "if: ${{ !cancelled() && needs.second.result == 'success' }}\n",
            ("success", "success"),
        ),
        (
            "if: ${{ !cancelled() && needs.first.result == 'success' }}\n",
            "if: ${{ !cancelled() }}\n",
            ("skipped", "success"),
        ),
    ],
)
def test_skipped_before(harness: WorkflowHarness, second: str, third: str, expected: tuple[str, str]) -> None:
    """A skipped job skips all later jobs, even after a job that ran, unless their conditions say otherwise."""
    jobs = (
        job("first", SAY, more="if: github.event_name == 'issues'\n")
        + job("second", SAY, more=f"needs: first\n{second}")
        + job("third", SAY, more=f"needs: second\n{third}")
    )
    assert conclusions(harness, jobs) == {"first": "skipped", "second": expected[0], "third": expected[1]}


def test_failed_before(harness: WorkflowHarness) -> None:
    """After a failed job, later jobs are skipped, except a job whose condition requires the failure. The run fails."""
    jobs = (
        job("first", "run: exit 3")
        + job("second", SAY, more="needs: first\n")
        + job("third", SAY, more="needs: first\nif: ${{ !cancelled() && needs.first.result == 'failure' }}\n")
    )
    result = harness.run(jobs)
    assert [job.conclusion for job in result.jobs.values()] == ["failure", "skipped", "success"]
    assert (result.conclusion, result.run.conclusion) == ("failure", "failure")


def test_steps_after_a_failure(harness: WorkflowHarness) -> None:
    """After a failed step only a step with `!cancelled()` runs, unless the failed step has `continue-on-error`."""
    result = harness.step(
        "{id: soft, run: 'exit 1', continue-on-error: true}",
        "{run: echo soft, if: steps.soft.outcome == 'failure' && steps.soft.conclusion == 'success'}",
        "run: false | true",
        "run: echo never",
        "{run: echo still, if: '!cancelled()'}",
    )
    outcomes = [step.outcome for step in result.jobs["only"].steps]
    assert outcomes == ["failure", "success", "failure", "skipped", "success"]


def test_matrix(harness: WorkflowHarness) -> None:
    """A matrix makes one job per value, named by the value. A failed job does not stop the other jobs."""
    first = job(
        "first",
        '{id: a, run: \'echo slugs=[\\"a\\",\\"b\\"] >> "$GITHUB_OUTPUT"\'}',
        more="outputs: {slugs: '${{ steps.a.outputs.slugs }}'}\n",
    )
    matrix = (
        "needs: first\nstrategy: {fail-fast: false, matrix: {slug: '${{ fromJSON(needs.first.outputs.slugs) }}'}}\n"
    )
    step = "{run: 'test \"$SLUG\" = b', env: {SLUG: '${{ matrix.slug }}'}}"
    result = harness.run(first + job("second", step, more=matrix))
    assert {name: job.conclusion for name, job in result.jobs.items()} == {
        "first": "success",
        "second (a)": "failure",
        "second (b)": "success",
    }


def test_files_of_the_runner(harness: WorkflowHarness) -> None:
    """A step writes outputs, variables, program paths and a summary to files, and blocks keep their lines."""
    write = """\
        id: a
        run: |
          { echo 'lines<<END'; echo 'one=1'; echo two; echo END; } >> "$GITHUB_OUTPUT"
          echo KEPT=here >> "$GITHUB_ENV"
          mkdir bin; printf '#!/bin/sh\\necho my own\\n' > bin/mine; chmod +x bin/mine
          echo "$PWD/bin" >> "$GITHUB_PATH"
          echo '# Heading' >> "$GITHUB_STEP_SUMMARY"
        """
    read = """\
        run: |
          mine; echo "$KEPT"; echo "$LINES"
        env: {LINES: "${{ steps.a.outputs.lines }}"}
        """
    result = harness.step(write, read)
    assert "my own\nhere\none=1\ntwo\n" in result.log
    assert result.jobs["only"].summary == "# Heading\n"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('echo no-sign >> "$GITHUB_OUTPUT"', "expected name=value"),
        ('echo "name<<END" >> "$GITHUB_OUTPUT"', "ends the block"),
        ('echo GITHUB_TOKEN=x >> "$GITHUB_ENV"', "cannot be set"),
        ('head -c 1100000 /dev/zero >> "$GITHUB_STEP_SUMMARY"', "keeps none"),
        ('echo "::set-output name=x::y"', "may not contain this command"),
        ('echo "text ##[add-mask]x"', "still obeys"),
    ],
)
def test_refused_by_the_runner(harness: WorkflowHarness, script: str, says: str) -> None:
    """A step fails the test if it writes data that GitHub drops, or a command that GitHub should not obey."""
    with pytest.raises(WorkflowError, match=says):
        harness.step("run: |\n  " + script)


def test_annotations(harness: WorkflowHarness) -> None:
    """Commands in the log become annotations of the check run, at most ten per level and step."""
    result = harness.step(
        """\
        run: |
          echo '::error file=a%2Cb.jsonl,line=7,title=Wrong::first%0Asecond 100%25'
          echo '::stop-commands::word'
          echo '::error::never'
          echo '::word::'
          for each in $(seq 12); do echo "::notice title=t::$each"; done
        """
    )
    annotations = result.run.jobs[0].annotations
    first = annotations[0]
    assert (first.level, first.path, first.line, first.title) == ("failure", "a,b.jsonl", 7, "Wrong")
    assert first.message == "first\nsecond 100%"
    assert [annotation.message for annotation in annotations[1:]] == [str(number) for number in range(1, 11)]


def test_masks(harness: WorkflowHarness) -> None:
    """Secrets, tokens and masked texts never appear in the log, and outputs that contain them are empty."""
    harness.actions.secrets = {"KEY": "hush"}
    steps = (
        "{run: 'echo \"is $KEY $TOKEN\"', env: {KEY: '${{ secrets.KEY }}', TOKEN: '${{ github.token }}'}}",
        "{id: a, run: 'echo ::add-mask::quiet; echo quiet; echo x=so-quiet >> \"$GITHUB_OUTPUT\"'}",
    )
    result = harness.run(job("only", *steps, more="outputs: {x: '${{ steps.a.outputs.x }}'}\n"))
    assert "is *** ***\n" in result.log
    assert "::add-mask::***\n***\n" in result.log
    assert result.jobs["only"].outputs == {"x": ""}


def test_environment(harness: WorkflowHarness) -> None:
    """A step has the environment variables of GitHub, and none of the test process."""
    result = harness.step("{run: env, env: {MINE: x}}")
    names = {line.partition("=")[0] for line in result.log.splitlines() if "=" in line}
    expected = {"PATH", "HOME", "LANG", "CI", "MINE", "PWD", "SHLVL", "_"}
    assert {name for name in names if not name.startswith(("GITHUB_", "RUNNER_"))} == expected
    assert {"GITHUB_REPOSITORY", "GITHUB_API_URL", "GITHUB_SHA", "GITHUB_RUN_ID"} <= names


def test_unset_secrets_are_empty(harness: WorkflowHarness) -> None:
    """A secret without a value is empty. Only a job that names an environment reads the environment's secrets."""
    harness.actions.environments = {"judge": {"KEY": "hush"}}
    step = "{run: 'echo \"[${#KEY}]\"', env: {KEY: '${{ secrets.KEY }}'}}"
    result = harness.run(job("with", step, more="environment: judge\n") + job("without", step))
    assert ("[4]" in result.jobs["with"].log, "[0]" in result.jobs["without"].log) == (True, True)
    assert (result.jobs["with"].secrets, result.jobs["without"].secrets) == (frozenset({"KEY"}), frozenset())


def test_permissions(harness: WorkflowHarness) -> None:
    """A job's token has the permissions of the job, and becomes invalid when the job ends."""
    step = """\
        run: |
          curl -s -o /dev/null -w '%{http_code}\\n' -H "Authorization: bearer $T" "$GITHUB_API_URL/repos/$WHERE/pulls"
        env: {T: "${{ github.token }}", WHERE: "${{ github.repository }}"}
        """
    before = dict(harness.github.tokens)
    result = harness.run(job("may", step, more="permissions: {pull-requests: read}\n") + job("may-not", step))
    codes = [job.log.splitlines()[-2] for job in result.jobs.values()]
    assert codes == ["200", "403"]
    assert harness.github.tokens == before


def test_missing_permissions(harness: WorkflowHarness) -> None:
    """A job without permissions in the file is refused, because a setting of the repository would decide them."""
    with pytest.raises(WorkflowError, match="permissions are missing"):
        harness.push({}, tried="on: push\njobs:\n" + "  only: {runs-on: x, steps: [{run: 'true'}]}\n")


def test_checkout_of_a_pull_request(harness: WorkflowHarness) -> None:
    """The run of a pull request checks out the merge of base and head, with a read-only token and no secret."""
    harness.actions.secrets = {"KEY": "hush"}
    show = """\
        run: git log --format=%p -1; cat mine.txt; echo "[$KEY]"; git rev-list --count HEAD
        env: {KEY: "${{ secrets.KEY }}"}
        """
    text = workflow(
        job(
            "only",
            f"{{uses: {CHECKOUT}, with: {{fetch-depth: 2, persist-credentials: false}}}}",
            show,
            more="permissions: {contents: write}\n",
        ),
        on="pull_request",
    )
    harness.push({"README.md": b"x"}, tried=text)
    fork = harness.github.fork(harness.board, harness.github.user("contributor"))
    harness.board.git.commit("main", {"later.txt": b"x"})
    fork.git.commit("mine", {"mine.txt": b"of the fork\n"})
    pull = harness.github.open_pull(harness.board, fork, "mine")
    event = pull_changed(harness.github, harness.board, pull, "opened")
    assert event is not None
    result = harness.actions.trigger(event)["tried"]
    main, log = harness.board.git.resolve("refs/heads/main"), result.log.splitlines()
    at = next(at for at, line in enumerate(log) if line.startswith(main[:7]))
    assert log[at].split() == [main[:7], pull.head[:7]]
    assert log[at + 1 : at + 4] == ["of the fork", "[]", "3"]
    assert result.jobs["only"].permissions == {"contents": "read"}
    assert (result.run.head, result.run.head_repository) == (pull.head, fork)


def test_conflict(harness: WorkflowHarness) -> None:
    """A pull request that conflicts with its base starts no run."""
    harness.push({"a": b"x"})
    fork = harness.github.fork(harness.board, harness.github.user("contributor"))
    fork.git.commit("mine", {"a": b"y"})
    harness.board.git.commit("main", {"a": b"z"})
    pull = harness.github.open_pull(harness.board, fork, "mine")
    assert pull_changed(harness.github, harness.board, pull) is None


def _open(harness: WorkflowHarness, name: str, files: dict[str, Any]) -> Any:
    fork = harness.github.fork(harness.board, harness.github.user(name))
    fork.git.commit("mine", files)
    pull = harness.github.open_pull(harness.board, fork, "mine")
    event = pull_changed(harness.github, harness.board, pull, "opened")
    assert event is not None
    return event


@pytest.mark.parametrize(
    ("on", "runs"),
    [
        ("pull_request", True),
        ("{pull_request: {paths: ['submissions/**']}}", True),
        ("{pull_request: {paths: ['*.toml', 'submissions/*']}}", False),
        ("{pull_request: {paths-ignore: ['submissions/**']}}", False),
        ("{pull_request: {branches: [main]}}", True),
        ("{pull_request: {branches: [other]}}", False),
        ("{pull_request: {types: [labeled]}}", False),
        ("push", False),
    ],
)
def test_triggers_of_a_pull_request(harness: WorkflowHarness, on: str, runs: bool) -> None:
    """Paths, branches and types decide which pull requests start a workflow."""
    harness.board.git.commit("main", {".github/workflows/tried.yml": workflow(job("only", SAY), on=on).encode()})
    event = _open(harness, "contributor", {"submissions/mine/core.jsonl": b"{}"})
    assert bool(harness.actions.waiting(event)) is runs


def test_other_triggers(harness: WorkflowHarness) -> None:
    """A workflow starts after another workflow, by hand with inputs, for a label, or for a push to some paths."""
    text = {
        "push": workflow(job("only", SAY), on="{push: {branches: [main], paths: ['a/**']}}"),
        "run": workflow(job("only", SAY), on="{workflow_run: {workflows: [tried], types: [completed]}}"),
        "hand": workflow(
            job("only", "{run: 'echo \"[$A][$B]\"', env: {A: '${{ inputs.a }}', B: '${{ inputs.b }}'}}"),
            on="{workflow_dispatch: {inputs: {a: {type: boolean, default: 'false'}, b: {default: d}}}}",
        ),
        "label": workflow(
            job("only", SAY, more="if: github.event.label.name == 'good'\n"), on="{issues: {types: [labeled]}}"
        ),
    }
    text = {name: file.replace("name: tried", f"name: {name}", 1) for name, file in text.items()}
    board, owner = harness.board, harness.board.owner
    assert not harness.push({"b/c": b""}, **text)
    ran = harness.push({"a/b/c": b""})
    assert list(ran) == ["push"]
    assert [
        workflow.name
        for workflow in harness.actions.waiting(completed(harness.github, board, ran["push"].run, "tried"))
    ] == ["run"]
    assert not harness.actions.waiting(completed(harness.github, board, ran["push"].run, "other"))
    by_hand = harness.actions.trigger(dispatched(board, "hand.yml", owner, {"a": "true"}))
    assert "[true][d]" in by_hand["hand"].log
    issue = harness.github.issue(board, owner)
    for name, conclusion in (("good", "success"), ("other", "skipped")):
        labelled = harness.actions.trigger(labeled(harness.github, board, issue, name, owner))
        assert labelled["label"].jobs["only"].conclusion == conclusion
    with pytest.raises(WorkflowError, match="there is no input x"):
        harness.actions.trigger(dispatched(board, "hand.yml", owner, {"x": ""}))


def test_artifacts(harness: WorkflowHarness) -> None:
    """A job unpacks the artifact of another job, without hidden files. A link becomes a copy of its target."""
    up = job(
        "up",
        f"uses: {CHECKOUT}",
        f"{{uses: {UPLOAD}, with: {{name: things, path: out/}}}}",
    )
    down = job(
        "down",
        f"{{uses: {DOWNLOAD}, with: {{name: things, path: in}}}}",
        "run: find in -type f | sort | xargs tail",
        more="needs: up\n",
    )
    result = harness.run(up + down, {"out/a": b"1\n", "out/b/c": b"2\n", "out/.hidden": b"", "out/link": Link("a")})
    assert "==> in/a <==\n1\n\n==> in/b/c <==\n2\n\n==> in/link <==\n1\n" in result.log
    assert ".hidden" not in result.log


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (f"{{uses: {UPLOAD}, with: {{name: taken, path: README.md}}}}", "409 Conflict"),
        (f"{{uses: {UPLOAD}, with: {{name: a/b, path: README.md}}}}", "GitHub refuses the name"),
        (f"{{uses: {UPLOAD}, with: {{name: b, path: absent, if-no-files-found: error}}}}", "no file is at 'absent'"),
        (f"{{uses: {DOWNLOAD}, with: {{name: absent}}}}", "'absent' is not found, only taken"),
        (f"{{uses: {UPLOAD}, with: {{name: b, path: README.md, archive: 'false'}}}}", "does not know archive"),
    ],
)
def test_failing_artifacts(harness: WorkflowHarness, step: str, says: str) -> None:
    """A step fails if its artifact's name exists or is not allowed, or if its file or artifact is missing."""
    steps = (f"uses: {CHECKOUT}", f"{{uses: {UPLOAD}, with: {{name: taken, path: README.md}}}}", step)
    result = harness.run(job("only", *steps), {"README.md": b"x"})
    assert result.conclusion == "failure"
    assert says in result.log


def test_cache_scopes(harness: WorkflowHarness) -> None:
    """The run of a pull request reads main's cache entries. Neither main nor another pull request reads its entries."""
    kept = "{run: 'mkdir -p kept; cat kept/* || true; echo \"$GITHUB_REF\" > kept/$RANDOM'}"
    key = '{id: k, run: \'echo "key=$(cat key)" >> "$GITHUB_OUTPUT"\'}'
    use = f"{{id: c, uses: {CACHE}, with: {{path: kept, key: '${{{{ steps.k.outputs.key }}}}'}}}}"
    said = "{run: 'echo \"hit [$HIT]\"', env: {HIT: '${{ steps.c.outputs.cache-hit }}'}}"
    text = workflow(job("only", f"uses: {CHECKOUT}", key, use, said, kept), on="[push, pull_request]")
    first = harness.push({"key": b"1"}, tried=text)["tried"]
    pulls = [_open(harness, name, {"other": name.encode()}) for name in ("one", "two")]
    logs = [harness.actions.trigger(event)["tried"].log for event in pulls]
    changed = [_open(harness, name, {"key": b"2"}) for name in ("three", "four")]
    logs += [harness.actions.trigger(event)["tried"].log for event in changed]
    again = harness.push({"key": b"2"})["tried"]
    assert ["hit [true]" in log for log in (first.log, *logs, again.log)] == [False, True, True, False, False, False]
    assert all("refs/heads/main\n" in log for log in logs[:2])
    scopes = [entry.scope for entry in harness.actions.caches.entries]
    assert scopes == ["refs/heads/main", "refs/pull/3/merge", "refs/pull/4/merge", "refs/heads/main"]


def test_cache_is_never_changed(harness: WorkflowHarness) -> None:
    """A saved cache entry never changes."""
    text = job(
        "only",
        f"{{uses: {CACHE}, with: {{path: kept, key: k}}}}",
        'run: mkdir -p kept; ls kept; touch "kept/$GITHUB_RUN_ID"',
    )
    runs = [harness.run(text), harness.run(text), harness.run(text)]
    first = str(runs[0].run.id)
    assert [first in run.log for run in runs] == [False, True, True]
    assert str(runs[1].run.id) not in runs[2].log


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("uses: actions/checkout@v7", "is not an action that a maintainer has reviewed"),
        (
            "uses: somebody/else@3d3c42e5aac5ba805825da76410c181273ba90b1",
            "is not an action that a maintainer has reviewed",
        ),
        ("run: echo ${{ github.ref }}", "an expression in `run`"),
        ("{run: 'true', shell: pwsh}", "does not know the shell"),
        ("{run: 'true', uses: x}", "one of `run` and `uses`"),
        ("{run: 'true', retries: '3'}", "does not know retries"),
        ("{run: 'true', if: secrets.KEY != ''}", "there is no 'secrets' here"),
        ("{run: 'true', if: failure()}", "does not know the function 'failure'"),
        ("{run: 'true', if: steps.absent.outputs.x}", "steps has no 'absent'"),
        ("{run: 'true', env: {X: '${{ needs.other.result }}'}}", "needs has no 'other'"),
    ],
)
def test_unknown_things(harness: WorkflowHarness, step: str, says: str) -> None:
    """An action that was not reviewed, an expression in a script, and an unknown name or key are refused."""
    with pytest.raises(WorkflowError, match=says):
        harness.step(step)


def test_composite_actions(harness: WorkflowHarness) -> None:
    """An action with the prefix `$/` is that of the running commit, and one with `./` is that of the workspace."""
    action = """\
name: n
inputs: {word: {default: d}}
outputs: {said: {value: "${{ steps.s.outputs.x }}"}}
runs:
  using: composite
  steps:
    - id: s
      shell: bash
      env: {W: "${{ inputs.word }}"}
      run: echo "VERSION $W"; echo "x=$W" >> "$GITHUB_OUTPUT"
"""
    files = {"act/action.yml": action.replace("VERSION", "first").encode()}
    steps = (
        f"uses: {CHECKOUT}",
        "run: sed -i s/first/second/ act/action.yml",
        "{id: a, uses: $/act, with: {word: w}}",
        "{id: b, uses: ./act}",
        "{run: 'echo \"[$A$B]\"', env: {A: '${{ steps.a.outputs.said }}', B: '${{ steps.b.outputs.said }}'}}",
    )
    result = harness.run(job("only", *steps), files)
    assert "first w\n" in result.log
    assert "second d\n" in result.log
    assert "[wd]\n" in result.log


PROJECT = b"""
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "x"
version = "1"
[project.scripts]
bashboard = "evaluator.cli:main"
[tool.hatch.build.targets.wheel]
packages = ["evaluator"]
"""
CHECKED_OUT: Mapping[str, bytes] = {
    "pyproject.toml": PROJECT,
    "requirements.txt": b"",
    "evaluator/__init__.py": b"",
    "evaluator/cli.py": b'def main():\n    import pydantic\n    print("of the checkout", pydantic.__name__)\n',
}
INSTALL = (
    f"uses: {CHECKOUT}",
    f"uses: {PYTHON}",
    "run: python -m pip install --quiet --require-hashes -r requirements.txt",
)


def test_python_of_the_checkout(harness: WorkflowHarness) -> None:
    """A job installs its own checkout, and never imports the code of another checkout."""
    steps = (
        f"uses: {CHECKOUT}",
        f"uses: {PYTHON}",
        "{run: python -c 'import pydantic', continue-on-error: true}",
        "run: python -m pip install --quiet --require-hashes -r requirements.txt",
        "{run: python -c 'import evaluator', continue-on-error: true, working-directory: ..}",
        "run: python -m pip install --no-deps --no-build-isolation --editable .",
        "{run: bashboard, working-directory: ..}",
    )
    result = harness.run(job("only", *steps), CHECKED_OUT)
    outcomes = [step.outcome for step in result.jobs["only"].steps]
    assert outcomes == ["success", "success", "failure", "success", "failure", "success", "success"], result.log
    assert "of the checkout pydantic\n" in result.log


@pytest.mark.parametrize(("option", "printed"), [("", "of the checkout"), ("--editable ", "forged")])
def test_only_an_editable_installation_executes_the_workspace(
    harness: WorkflowHarness, option: str, printed: str
) -> None:
    """An artifact that is unpacked in the workspace replaces executed code only if the installation is editable."""

    def escape(seat: JobContext) -> None:
        seat.shelf.put("things", {"evaluator/cli.py": b'def main():\n    print("forged")\n'})

    harness.actions.escapes["first"] = escape
    steps = (
        *INSTALL,
        f"run: python -m pip install --no-deps --no-build-isolation {option}.",
        f"{{uses: {DOWNLOAD}, with: {{name: things}}}}",
        "run: cat evaluator/cli.py; bashboard",
    )
    result = harness.run(job("first", SAY) + job("second", *steps, more="needs: first\n"), CHECKED_OUT)
    assert 'print("forged")' in result.log
    assert result.jobs["second"].log.splitlines()[-2].startswith(printed), result.log


def test_an_artifact_can_be_unpacked_outside_of_the_workspace(harness: WorkflowHarness) -> None:
    up = job("first", "run: echo 1 > $RUNNER_TEMP/a", f"{{uses: {UPLOAD}, with: {{name: a, path: '{TEMP}/a'}}}}")
    steps = (f"{{uses: {DOWNLOAD}, with: {{name: a, path: '{TEMP}/b'}}}}", "run: cat $RUNNER_TEMP/b/a; ls")
    result = harness.run(up + job("second", *steps, more="needs: first\n"))
    assert "\n1\n[success]" in result.jobs["second"].log


def test_a_cache_entry_can_replace_any_file(harness: WorkflowHarness) -> None:
    """A cache entry can replace any file of a job's machine, because GitHub's action unpacks absolute paths."""

    def escape(seat: JobContext) -> None:
        with tarfile.open(seat.caches.entries[0].file, "a") as archive:
            entry = tarfile.TarInfo(f"{seat.machine.folder}/home/.bashrc")
            archive.addfile(entry)

    harness.actions.escapes["first"] = escape
    save = job("first", "run: echo 1 > a", f"{{uses: {SAVE}, with: {{path: a, key: k}}}}")
    steps = (f"{{uses: {RESTORE}, with: {{path: a, key: k}}}}", "run: cat a; ls -A ~")
    result = harness.run(save + job("second", *steps, more="needs: first\n"))
    assert "\n1\n.bashrc\n" in result.jobs["second"].log


def test_other_pins_are_refused(harness: WorkflowHarness) -> None:
    """A checkout fails if its pins differ from the installed packages."""
    files = {"requirements.txt": b"pydantic==0.1 \\\n    --hash=sha256:00\n"}
    steps = (f"uses: {CHECKOUT}", f"uses: {PYTHON}", "run: python -m pip install --require-hashes -r requirements.txt")
    result = harness.run(job("only", *steps), files)
    assert "not installed here: pydantic==0.1" in result.log


def test_escapes(harness: WorkflowHarness) -> None:
    """Code that escapes from a job can replace the artifacts of the run, but makes no annotation on another job."""

    def escape(seat: JobContext) -> None:
        seat.shelf.remove("things")
        seat.shelf.put("things", {"a": b"forged\n"})

    harness.actions.escapes["second"] = escape
    up = job(
        "first", f"uses: {CHECKOUT}", f"{{uses: {UPLOAD}, with: {{name: things, path: a}}}}", "run: echo ::notice::mine"
    )
    third = job("third", f"{{uses: {DOWNLOAD}, with: {{name: things}}}}", "run: cat a", more="needs: second\n")
    result = harness.run(up + job("second", SAY, more="needs: first\n") + third, {"a": b"true\n"})
    assert "forged" in result.jobs["third"].log
    assert [len(job.annotations) for job in result.run.jobs] == [1, 0, 0]


def test_concurrency_is_reported(harness: WorkflowHarness) -> None:
    """The result of a run contains its concurrency group."""
    text = workflow(job("only", SAY), more="concurrency: {group: 'g-${{ github.ref }}', cancel-in-progress: true}\n")
    assert harness.push({}, tried=text)["tried"].concurrency == "g-refs/heads/main"


def test_files_that_are_refused(harness: WorkflowHarness) -> None:
    """Repeated keys, needs of unknown jobs, and unknown triggers are refused, and the error names the file."""
    head = "on: push\npermissions: {}\njobs:\n"
    for text, says in (
        (head + "  a: {}\n  a: {}\n", "a twice"),
        (head + "  a: {runs-on: x, needs: b, steps: []}\n", "jobs a need jobs that do not exist"),
        (head.replace("push", "release") + "  a: {runs-on: x, steps: [{run: x}]}\n", "does not know release"),
        (head + "  a: {runs-on: x, container: y, steps: []}\n", "does not know container"),
    ):
        harness.board.git.commit("main", {".github/workflows/tried.yml": text.encode()})
        with pytest.raises(WorkflowError, match=rf"tried.yml: .*{says}"):
            harness.actions.waiting(pushed(harness.board, None, harness.board.owner))
