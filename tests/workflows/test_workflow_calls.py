"""Calls of reusable workflows follow the same strict rules as on GitHub."""

from __future__ import annotations

import textwrap

import pytest

from tests.doubles.workflows import RunResult, WorkflowError, dispatched
from tests.workflows.workflow_bench import WorkflowHarness, job, workflow

CALLED = """\
name: called
on:
  workflow_call:
    inputs:
      word: {type: string, required: true}
      loud: {type: boolean, default: false}
      times: {type: number, default: 1}
    secrets:
      KEY: {required: false}
    outputs:
      answer: {value: "${{ jobs.say.outputs.answer }}"}
permissions: {}
defaults: {run: {shell: bash}}
jobs:
  say:
    runs-on: ubuntu-24.04
    environment: vault
    permissions: {contents: read}
    outputs: {answer: "${{ steps.s.outputs.answer }}"}
    steps:
      - id: s
        run: echo "answer=$WORD-$LOUD-$TIMES-${#KEY}" >> "$GITHUB_OUTPUT"; echo "$GITHUB_WORKFLOW"
        env:
          WORD: "${{ inputs.word }}"
          LOUD: "${{ inputs.loud }}"
          TIMES: "${{ inputs.times }}"
          KEY: "${{ secrets.KEY }}"
"""
CALL = "uses: $/.github/workflows/called.yml\nwith: {word: hello}\n"


def call(more: str = CALL, name: str = "asks") -> str:
    """Return a job that calls the workflow `called`."""
    return f"{name}:\n" + textwrap.indent(more, "  ")


def tell(more: str = "") -> str:
    """Return a job that prints the output `answer` of the call."""
    step = "{run: 'echo \"[$ANSWER]\"', env: {ANSWER: '${{ needs.asks.outputs.answer }}'}}"
    return job("tells", step, more=f"needs: asks\n{more}")


def push(harness: WorkflowHarness, jobs: str, called: str = CALLED) -> RunResult:
    return harness.push({}, tried=workflow(jobs), called=called)["tried"]


def test_a_called_job_is_named_by_its_caller_and_returns_outputs(harness: WorkflowHarness) -> None:
    """A called job is named after its call, and later jobs read its outputs.

    The call starts no separate run of the called workflow.
    """
    runs = harness.push({}, tried=workflow(call() + tell()), called=CALLED)
    assert list(runs) == ["tried"]
    result = runs["tried"]
    assert list(result.jobs) == ["asks / say", "tells"]
    assert [job.name for job in result.run.jobs] == ["asks / say", "tells"]
    assert "[hello-false-1-0]\n" in result.jobs["tells"].log
    assert "tried\n" in result.jobs["asks / say"].log


def test_inputs_keep_their_types(harness: WorkflowHarness) -> None:
    more = CALL.replace("{word: hello}", "{word: '${{ github.ref }}', loud: true, times: 3}")
    assert push(harness, call(more) + tell()).jobs["asks / say"].outputs == {"answer": "refs/heads/main-true-3-0"}


SECRETS = "secrets: {KEY: '${{ secrets.KEY }}'}\n"


@pytest.mark.parametrize(("more", "length"), [(CALL + SECRETS, 4), (CALL, 0)])
def test_a_secret_of_an_environment_is_read_under_a_passed_name(
    harness: WorkflowHarness, more: str, length: int
) -> None:
    """A called job reads a secret of its own environment only if the caller passes the secret's name.

    The caller itself does not know the value.
    """
    harness.actions.environments = {"vault": {"KEY": "hush"}}
    result = push(harness, call(more))
    assert result.jobs["asks / say"].outputs == {"answer": f"hello-false-1-{length}"}
    assert result.jobs["asks / say"].secrets == ({"KEY"} if length else set())


def test_a_secret_of_the_repository_is_read_only_if_it_is_passed(harness: WorkflowHarness) -> None:
    harness.actions.secrets = {"KEY": "quiet", "OTHER": "hush"}
    assert push(harness, call(CALL + SECRETS)).jobs["asks / say"].secrets == {"KEY"}
    assert push(harness, call()).jobs["asks / say"].secrets == frozenset()


FAILING = (
    CALLED
    + """\
  fails:
    runs-on: ubuntu-24.04
    permissions: {contents: read}
    steps: [{run: exit 1}]
"""
)
SKIPPING = FAILING.replace(
    "permissions: {contents: read}\n    steps: [{run: exit 1}]", "if: inputs.loud\n    steps: []"
)


def test_a_failed_job_fails_the_call_and_leaves_its_outputs(harness: WorkflowHarness) -> None:
    """A failed job fails the call. A later job that runs after a failure still reads the outputs of the other jobs."""
    result = push(harness, call() + tell("if: ${{ !cancelled() && needs.asks.result == 'failure' }}\n"), FAILING)
    assert "[hello-false-1-0]\n" in result.jobs["tells"].log
    assert result.conclusion == "failure"
    assert push(harness, call() + tell(), FAILING).jobs["tells"].conclusion == "skipped"


def test_a_skipped_job_of_a_call_skips_the_jobs_after_the_call(harness: WorkflowHarness) -> None:
    """A skipped job of a called workflow also skips the jobs after the call, as on GitHub."""
    result = push(harness, call() + tell(), SKIPPING)
    assert {name: job.conclusion for name, job in result.jobs.items()} == {
        "asks / say": "success",
        "asks / fails": "skipped",
        "tells": "skipped",
    }
    again = push(harness, call() + tell("if: ${{ !cancelled() && needs.asks.outputs.answer != '' }}\n"), SKIPPING)
    assert again.jobs["tells"].conclusion == "success"


def test_a_call_that_is_skipped_has_empty_outputs(harness: WorkflowHarness) -> None:
    first = job("first", "run: exit 1")
    result = push(harness, first + call(f"needs: first\n{CALL}") + tell("if: ${{ !cancelled() }}\n"))
    assert {name: job.conclusion for name, job in result.jobs.items()} == {
        "first": "failure",
        "asks": "skipped",
        "tells": "success",
    }
    assert "[]\n" in result.jobs["tells"].log


BY_HAND = "{push: {}, workflow_dispatch: {inputs: {loud: {type: boolean, default: 'false'}}}}"
LOUD = CALL.replace("{word: hello}", "{word: hello, loud: '${{ inputs.loud || false }}'}")


def test_a_boolean_is_passed_on(harness: WorkflowHarness) -> None:
    """A boolean input of the run is passed on to the called workflow.

    A push has no inputs, so the expression gives `false` in this case.
    """
    pushed = harness.push({}, tried=workflow(call(LOUD), on=BY_HAND), called=CALLED)
    by_hand = harness.actions.trigger(dispatched(harness.board, "tried.yml", harness.board.owner, {"loud": "true"}))
    answers = [runs["tried"].jobs["asks / say"].outputs["answer"] for runs in (pushed, by_hand)]
    assert answers == ["hello-false-1-0", "hello-true-1-0"]


def test_null_is_not_a_boolean(harness: WorkflowHarness) -> None:
    """Null is refused as a boolean input, so a push needs the fallback `false`."""
    text = workflow(call(LOUD.replace(" || false", "")), on=BY_HAND)
    with pytest.raises(WorkflowError, match="input loud: expected a boolean, found None"):
        harness.push({}, tried=text, called=CALLED)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("uses: $/.github/workflows/called.yml\n", "input: .*called.yml requires word"),
        (CALL.replace("word: hello", "word: hello, wrod: x"), "input: .*called.yml does not declare wrod"),
        (CALL.replace("word: hello", "word: hello, loud: 'yes'"), "input loud: expected a boolean, found 'yes'"),
        (CALL.replace("word: hello", "word: hello, times: many"), "input times: expected a number, found 'many'"),
        (CALL + "secrets: {OTHER: x}\n", "secret: .*called.yml does not declare OTHER"),
        (CALL + "secrets: inherit\n", "pass each secret by its name"),
        (CALL + "permissions: {}\n", "job say requests contents: read, and the call grants none"),
        (CALL + "permissions: {checks: write}\n", "job say requests contents: read, and the call grants none"),
        (CALL + "runs-on: ubuntu-24.04\n", "does not know runs-on"),
        (CALL + "environment: vault\n", "does not know environment"),
        (CALL + "steps: []\n", "does not know steps"),
        (CALL.replace("called.yml", "absent.yml"), "there is no .github/workflows/absent.yml"),
        (CALL.replace("called.yml", "tried.yml"), "tried.yml: on: there is no workflow_call"),
        ("uses: a/b/.github/workflows/called.yml@main\n", "is not a workflow file of this repository"),
        (CALL.replace("hello", "'${{ secrets.KEY }}'"), "there is no 'secrets' here"),
    ],
)
def test_calls_that_are_refused(harness: WorkflowHarness, more: str, says: str) -> None:
    """Each of these calls is refused. GitHub refuses all but the last one before the run starts."""
    with pytest.raises(WorkflowError, match=says):
        push(harness, call(more))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{contents: read}", "{contents: write}", "requests contents: write, and the call grants read"),
        ("{contents: read}", "{contents: read, id-token: write}", "requests id_token: write, and the call grants none"),
        ("KEY: {required: false}", "KEY: {required: true}", "secret: .*called.yml requires KEY"),
        ("      KEY: {required: false}", "      OTHER: {}", "declares no secret KEY"),
        ("type: string, ", "", "input word: type is ''"),
        ("type: string", "type: text", "input word: type is 'text'"),
        ("default: 1", "default: one", "input times: default: expected a number, found 'one'"),
        ("required: true}", "required: true, options: x}", "does not know options"),
        ("jobs.say.outputs.answer", "jobs.say.outputs.answre", "has no 'answre'"),
        ("jobs.say.outputs.answer", "jobs.say.result", "jobs.say has no 'result'"),
        ("jobs.say.outputs.answer", "needs.say.outputs.answer", "there is no 'needs' here"),
        ("inputs.word", "inputs.wrod", "inputs has no 'wrod'"),
        ("defaults:", "concurrency: x\ndefaults:", "concurrency of a called workflow"),
        ("    runs-on: ubuntu-24.04\n", "    uses: $/.github/workflows/called.yml\n", "does not know"),
    ],
)
def test_called_workflows_that_are_refused(harness: WorkflowHarness, old: str, new: str, says: str) -> None:
    assert CALLED.count(old) == 1
    with pytest.raises(WorkflowError, match=says):
        push(harness, call(), CALLED.replace(old, new))


def test_a_called_job_without_permissions_has_those_of_its_file(harness: WorkflowHarness) -> None:
    called = CALLED.replace("    permissions: {contents: read}\n", "")
    assert push(harness, call(), called).jobs["asks / say"].permissions == {}
