"""The panel through files: the same questions and verdicts as a live panel, and files that are refused."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import Result

from evaluator.errors import InfraError
from evaluator.judges.panel.batch_files import BatchLimits, read_replies, write_batches
from evaluator.judges.panel.open_questions import PanelRequest, open_requests, possible_requests
from evaluator.judges.panel.reply_cache import Reply as CachedReply
from evaluator.judges.panel.reply_cache import ReplyCache, ReplyKey
from evaluator.judges.panel.settings import PanelSettings
from evaluator.model_server.client_settings import PricedModel
from evaluator.pipeline.project import Project
from evaluator.store import store_in_use
from evaluator.testing.executor import fake_boards
from tests.doubles.model_server import Act, JudgeServer, ReceivedRequest, Said, refuses, replies, says, vote
from tests.judges.panel.panel_harness import KEY, PanelHarness, undecided
from tests.judges.panel.test_panel_boards import SHOWN, checkout, rows, run, set_up
from tests.judges.panel.test_published_prompts import clones

Reply = dict[str, Any]
Change = Callable[[list[Reply]], list[Reply]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("judged")).root


@pytest.fixture
def project(judged: Path, tmp_path: Path) -> Project:
    shutil.copytree(judged, tmp_path / "checkout")
    return Project(tmp_path / "checkout")


def copy_of(project: Project, name: str) -> Project:
    return Project(shutil.copytree(project.root, project.root.with_name(name)))


def lines_of(folder: Path) -> list[Reply]:
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def answer(server: JudgeServer, line: Reply) -> Reply:
    """Do the work of a batch service: send the body of one request to a server, and return the line of its result."""
    address = urlsplit(server.url)
    with contextlib.closing(http.client.HTTPConnection(str(address.hostname), address.port)) as connection:
        connection.request(line["method"], line["url"], json.dumps(line["body"]).encode())
        answered = connection.getresponse()
        status, body = answered.status, answered.read()
    response = {"status_code": status, "request_id": "r", "body": json.loads(body)}
    return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}


def write(path: Path, lines: list[Reply]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def ask_in_rounds(project: Project, server: JudgeServer, *options: str, export: tuple[str, ...] = ()) -> list[int]:
    """Export, answer and import until no question is open. Return the number of requests of each round."""
    rounds: list[int] = []
    while True:
        folder = project.root.with_name(f"{project.root.name}-round-{len(rounds)}")
        exported = run(project, "panel", "export", str(folder), *options, *export, key=None)
        assert exported.exit_code == 0
        if not folder.exists():
            assert "no question is open" in exported.stderr
            return rounds
        results = [answer(server, line) for line in lines_of(folder)]
        path = write(folder.with_suffix(".results"), results[::-1])  # a batch returns results in any order
        imported = run(project, "panel", "import", str(path), "--keep-invalid", *options, key=None)
        assert imported.exit_code in (0, 1), imported.stderr
        rounds.append(len(results))


def brain(asked: ReceivedRequest) -> Said:
    """Answer by the digest of the request: yes, no, unsure, or a reply off the menu."""
    number = sum(json.dumps(asked.body["messages"]).encode()) + asked.body["seed"] * 7
    text = [vote("yes", "fits"), vote("no", "misses"), vote("yes"), vote("unsure"), "I cannot say yes"][number % 5]
    return replies(text)(asked)


def replies_kept(project: Project) -> set[tuple[object, ...]]:
    path = project.store_path.with_name("panel.jsonl")
    kept = (json.loads(line) for line in path.read_text().splitlines())
    return {
        tuple(reply.get(name) for name in ("evidence", "judge", "model", "prompt", "seed", "text")) for reply in kept
    }


@pytest.mark.parametrize("judge", ["consensus", "llm", "exec-llm", "embed", "exec-embed"])
def test_batches_give_the_verdicts_of_a_live_panel(project: Project, judge: str) -> None:
    """Files and a live panel ask the same questions, keep the same replies, and give the same results, byte by byte."""
    fake_boards(project, SHOWN, judge=judge)
    with JudgeServer(brain) as server:
        set_up(project, server, models=["one", "two"], votes=3, embeddings="vectors", concurrency=1)
        live = copy_of(project, "live")
        asked_live = run(live, "score", "--judge", judge, "--json")
        live_calls = [json.dumps(asked.body, sort_keys=True) for asked in server.asked]
        server.asked.clear()
        rounds = ask_in_rounds(project, server, "--judge", judge)
        file_calls = [json.dumps(asked.body, sort_keys=True) for asked in server.asked]
        server.asked.clear()
        scored = run(project, "score", "--judge", judge, "--json", key=None)
        assert server.asked == []
    assert scored.stdout == asked_live.stdout
    assert sorted(file_calls) == sorted(live_calls)
    assert replies_kept(project) == replies_kept(live)
    assert sum(rounds) == len(live_calls) > 0
    for task in ("files-1", "files-2", "files-3"):
        arguments = ("explain", "steady", task, "--suite", "tiny", "--judge", judge, "--json")
        assert run(project, *arguments).stdout == run(live, *arguments).stdout


def test_one_round_is_enough_with_every_vote(project: Project) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server, votes=3)
        needed = sum(ask_in_rounds(copy_of(project, "needed"), server))
        rounds = ask_in_rounds(project, server, export=("--all",))
    assert len(rounds) == 1
    assert (needed, rounds[0]) == (6, 9)  # three questions: two votes that agree, or three votes


def test_plain_lines_can_be_answered_by_any_program(project: Project, tmp_path: Path) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
        live = rows(run(copy_of(project, "live"), "score", "--json"))
        run(project, "panel", "export", str(tmp_path / "questions"), "--plain", key=None)
        questions = lines_of(tmp_path / "questions")
        assert [set(question) for question in questions] == [{"id", "model", "seed", "messages", "schema"}] * 3
        assert {json.dumps(question["messages"]) for question in questions} == {
            json.dumps(asked.body["messages"]) for asked in server.asked
        }
        path = write(tmp_path / "replies.jsonl", [{"id": each["id"], "text": "yes"} for each in questions])
        assert run(project, "panel", "import", str(path), key=None).exit_code == 0
        assert rows(run(project, "score", "--json", key=None)) == live


def exported(project: Project, folder: Path, act: Act) -> Path:
    """Export all questions of a project, let a server answer them, and return the file of results."""
    with JudgeServer(act) as server:
        set_up(project, server)
        assert run(project, "panel", "export", str(folder), key=None).exit_code == 0
        return write(folder.with_suffix(".results"), [answer(server, line) for line in lines_of(folder)])


def ledger(project: Project) -> bytes:
    path = project.store_path.with_name("panel.jsonl")
    return path.read_bytes() if path.exists() else b""


def test_a_second_import_adds_nothing(project: Project, tmp_path: Path) -> None:
    path = exported(project, tmp_path / "round", says("yes"))
    first = run(project, "panel", "import", str(path), "--json")
    assert json.loads(first.stdout) == {"added": 3, "known": 0, "failed": 0, "invalid": 0}
    kept = ledger(project)
    again = run(project, "panel", "import", str(path), str(path), "--json")
    assert (again.exit_code, json.loads(again.stdout)["added"], json.loads(again.stdout)["known"]) == (0, 0, 3)
    run(project, "score")
    assert "0 replies stored, 3 were there before" in run(project, "panel", "import", str(path)).stdout
    assert ledger(project) == kept


def without_response(lines: list[Reply]) -> list[Reply]:
    return [lines[0], {"custom_id": lines[1]["custom_id"], "response": None}, lines[2]]


def expired(lines: list[Reply]) -> list[Reply]:
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return [lines[0], {**lines[1], "response": None, "error": error}, lines[2]]


@pytest.mark.parametrize("change", [without_response, expired])
def test_a_request_without_an_answer_stays_open(project: Project, tmp_path: Path, change: Change) -> None:
    """The other replies are stored. The next export has only the request that was not answered."""
    path = exported(project, tmp_path / "round", says("yes"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    imported = run(project, "panel", "import", str(write(path, change(lines))), key=None)
    assert imported.exit_code == 1
    assert f"{path}:2: request {lines[1]['custom_id']} stays open: it was not answered: " in imported.stderr
    run(project, "panel", "export", str(tmp_path / "next"), key=None)
    assert [line["custom_id"] for line in lines_of(tmp_path / "next")] == [lines[1]["custom_id"]]


def test_a_request_that_the_server_refuses_stays_open(project: Project, tmp_path: Path) -> None:
    path = exported(project, tmp_path / "round", refuses(429, message="too many requests"))
    imported = run(project, "panel", "import", str(path), key=None)
    assert imported.exit_code == 1
    assert f"{path}:3: request " in imported.stderr
    assert "the server answered 429: 'too many requests'" in imported.stderr
    assert ledger(project) == b""


def changed(name: str, value: Any) -> Change:
    return lambda lines: [*lines[:2], {**lines[2], name: value}]


def content(text: str) -> Change:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return changed("response", {"status_code": 200, "body": body})


BAD: dict[str, tuple[Change, str]] = {
    "unknown": (changed("custom_id", "f" * 64), f":3: id '{'f' * 64}' answers no open question"),
    "no id": (
        lambda lines: [*lines[:2], {"response": lines[2]["response"]}],
        ":3: expected a line of a batch's results",
    ),
    "no completion": (changed("response", {"status_code": 200, "body": {}}), "what it sent is no chat completion"),
    "off the menu": (content("certainly yes"), ':3: expected {"reason": ..., "verdict"'),
    "another": (
        lambda lines: [*lines, content(vote("no"))(lines)[2]],
        ":4: expected one reply to a request,",
    ),
    "list": (lambda lines: [*lines[:2], [1]], ":3: expected a line of a batch's results"),  # type: ignore[list-item]
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_with_a_problem_is_refused_whole(project: Project, tmp_path: Path, name: str) -> None:
    """The error has the file and the line, and no reply of any file is stored."""
    change, words = BAD[name]
    path = exported(project, tmp_path / "round", says("yes"))
    good = shutil.copy(path, tmp_path / "good.jsonl")
    write(path, change([json.loads(line) for line in path.read_text().splitlines()]))
    refused = run(project, "panel", "import", str(good), str(path), key=None)
    assert refused.exit_code == 1
    assert f"{path}{words}" in refused.stderr if words[0] == ":" else words in refused.stderr
    assert ledger(project) == b""


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_half_a_line_is_refused(project: Project, tmp_path: Path, cut: int) -> None:
    path = exported(project, tmp_path / "round", says("yes"))
    path.write_bytes(path.read_bytes().rstrip()[:-cut])
    refused = run(project, "panel", "import", str(path), key=None)
    assert refused.exit_code == 1
    assert f"{path}:3: broken JSON at column" in refused.stderr
    assert "is the line complete?" in refused.stderr or cut == 1
    assert ledger(project) == b""


def test_a_reply_off_the_menu_counts_as_no_vote_as_in_a_live_run(project: Project, tmp_path: Path) -> None:
    path = exported(project, tmp_path / "round", replies("certainly yes"))
    kept = run(project, "panel", "import", str(path), "--keep-invalid", key=None)
    assert (kept.exit_code, kept.stderr.count("counts as no vote")) == (1, 3)
    with JudgeServer(replies("certainly yes")) as server:
        live = copy_of(project, "live")
        live.store_path.with_name("panel.jsonl").unlink()
        set_up(live, server)
        assert run(live, "score", "--json").stdout == run(project, "score", "--json", key=None).stdout
        assert server.asked


def test_an_import_keeps_every_line_of_earlier_runs(project: Project, tmp_path: Path) -> None:
    """An incomplete last line, as a killed run leaves it, stays a line of its own."""
    path = exported(project, tmp_path / "round", says("yes"))
    earlier = project.store_path.with_name("panel.jsonl")
    earlier.write_bytes(b'{"half a line')
    run(project, "panel", "import", str(path))
    assert earlier.read_bytes().startswith(b'{"half a line\n{"')
    assert earlier.read_bytes().count(b"\n") == 4


def test_replies_that_cannot_be_written_are_not_stored_in_part(harness: PanelHarness) -> None:
    """A limit on the size of files stops the write, as a full disk does. The earlier replies stay as they were."""
    cache = ReplyCache(harness.path)
    keep(cache, ReplyKey("e" * 64, "llm", "one", "0" * 64, 1), "yes")
    before = harness.path.read_bytes()
    key = ReplyKey("e" * 64, "llm", "one", "0" * 64, 2)
    many = [CachedReply(format=1, **key._asdict(), text="x" * 4096)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 2048, hard))
    try:
        with pytest.raises(InfraError, match="nothing is stored; make room"):
            cache.add_all(many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert harness.path.read_bytes() == before
    assert list(harness.path.parent.iterdir()) == [harness.path]
    assert cache.find(key) is None


def test_a_running_score_keeps_an_import_waiting(project: Project, tmp_path: Path) -> None:
    path = exported(project, tmp_path / "round", says("yes"))
    with store_in_use(project.store_path):
        refused = run(project, "panel", "import", str(path), key=None)
    assert refused.exit_code == 2
    assert "uses this store" in refused.stderr
    assert ledger(project) == b""


def test_an_export_never_mixes_with_an_earlier_one(project: Project, tmp_path: Path) -> None:
    exported(project, tmp_path / "round", says("yes"))
    before = sorted((tmp_path / "round").iterdir())
    refused = run(project, "panel", "export", str(tmp_path / "round"), key=None)
    assert refused.exit_code == 2
    assert "expected a new or empty folder" in refused.stderr
    assert sorted((tmp_path / "round").iterdir()) == before


def test_only_the_named_submissions_are_asked_about(project: Project, tmp_path: Path) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
    run(project, "panel", "export", str(tmp_path / "one"), "--submission", "steady")
    assert len(lines_of(tmp_path / "one")) == 1
    one = lines_of(tmp_path / "one")[0]["custom_id"]
    run(project, "panel", "export", str(tmp_path / "all"))
    foreign = [line["custom_id"] for line in lines_of(tmp_path / "all") if line["custom_id"] != one]
    path = write(tmp_path / "replies.jsonl", [{"id": foreign[0], "text": "yes"}])
    refused = run(project, "panel", "import", str(path), "--submission", "steady")
    assert "answers no open question" in refused.stderr


def test_answers_without_a_verdict_are_told(project: Project, tmp_path: Path) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
    told = run(project, "panel", "export", str(tmp_path / "round"), "--judge", "exec-llm")
    assert "9 answers are not judged yet" in told.stderr
    assert "no question is open" in told.stderr


def test_without_a_panel_the_settings_are_shown(project: Project, tmp_path: Path) -> None:
    told = run(project, "panel", "export", str(tmp_path / "round"))
    assert (told.exit_code, "names no model; write there" in told.stderr) == (2, True)


def test_pairs_of_judges_are_asked_about_as_submissions_are(project: Project, tmp_path: Path) -> None:
    """`judges validate` decides by imported replies as by a live panel."""
    with JudgeServer(says("yes")) as server:
        set_up(project, server, votes=3)
        validated(project, key=None)
        live = copy_of(project, "live")
        figures = validated(live)
        calls = len(server.asked)
        assert calls > 0
        ask_in_rounds(project, server, "--validation", "--judge", "llm")
        assert len(server.asked) == 2 * calls
        assert validated(project, key=None) == figures
        assert len(server.asked) == 2 * calls


def validated(project: Project, *options: str, key: str | None = KEY) -> Any:
    ended: Result = run(project, "judges", "validate", "--judge", "llm", "--json", *options, key=key)
    figures = json.loads(ended.stdout)["figures"]
    return [{name: value for name, value in each.items() if name not in ("seconds", "usd")} for each in figures]


# -- files and requests alone


def requests(count: int, models: int = 1) -> list[PanelRequest]:
    return [
        PanelRequest(
            ReplyKey(f"{number:064}", "llm", f"maker/model {number % models}", "0" * 64, 123),
            PricedModel(name=f"maker/model {number % models}"),
            [{"role": "user", "content": "é" * 100}],
        )
        for number in range(count)
    ]


def test_files_keep_the_limits_and_have_one_model(tmp_path: Path) -> None:
    written = write_batches(tmp_path, requests(25, models=2), 400, BatchLimits(requests=5))
    assert [(each.model, each.requests) for each in written].count(("maker/model 0", 5)) == 2
    assert sum(each.requests for each in written) == 25
    for each in written:
        lines = [json.loads(line) for line in (tmp_path / each.name).read_text().splitlines()]
        assert {line["body"]["model"] for line in lines} == {each.model}
        assert len(lines) == each.requests <= 5
        assert (tmp_path / each.name).stat().st_size == each.size


def test_no_file_is_larger_than_its_limit(tmp_path: Path) -> None:
    written = write_batches(tmp_path, requests(20), 400, BatchLimits(size=5_000))
    assert len(written) > 1
    assert all((tmp_path / each.name).stat().st_size <= 5_000 for each in written)


def test_a_line_has_the_documented_fields(tmp_path: Path) -> None:
    """The fields are those of OpenAI's Batch API. An id has at most 64 characters."""
    (written,) = write_batches(tmp_path, requests(1), 400)
    line = json.loads((tmp_path / written.name).read_text())
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert (line["method"], line["url"], len(line["custom_id"])) == ("POST", "/v1/chat/completions", 64)
    assert line["body"]["temperature"] == 0
    assert line["body"]["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"id": "a"}', "expected the field 'text'"),
        (b'{"id": "a", "text": "yes", "embedding": [1]}', "expected the field 'text'"),
        (b'{"id": "b", "text": "yes"}', "expected the field 'embedding'"),
        (b'{"id": "b", "embedding": [0]}', "finite numbers that are not all zero"),
        (b'{"id": "b", "embedding": [NaN]}', "finite number"),
        (b'{"id": "a", "text": "yes", "model": "x"}', "Extra inputs"),
        (b'{"id": "a", "text": "\xff"}', "expected UTF-8"),
        (b'{"id": "a", "text": "\\ud800"}', "surrogate"),
        (b'{"a":' * 100_000, "nested"),
        (b"[" * 100_000, "one JSON value"),
        (b"", "empty file"),
    ],
)
def test_plain_replies_with_problems(line: bytes, words: str) -> None:
    _, (problem,) = read_replies(Path("replies"), line, {"a": True, "b": False})
    assert words in problem.message


def test_open_requests_are_those_of_a_live_panel(harness: PanelHarness) -> None:
    """With one reply of three, the second vote is open. The third vote waits until the first two differ."""
    items = [undecided()]
    settings = PanelSettings(base_url="http://host/v1", models=("one", "two"), votes=3)
    cache = ReplyCache(harness.path)
    possible = list(possible_requests(settings, items[0]))
    assert [request.key.seed for request in possible] == [123, 123, 124]
    assert list(open_requests(settings, cache, items[0])) == possible[:2]
    assert list(open_requests(settings, cache, items[0], every=True)) == possible
    for number, (word, left) in enumerate([("yes", possible[1:2]), ("no", possible[2:]), ("unsure", [])]):
        keep(cache, possible[number].key, word)
        assert list(open_requests(settings, cache, items[0])) == left
    assert list(open_requests(settings, cache, items[0], every=True)) == []


def keep(cache: ReplyCache, key: ReplyKey, word: str) -> None:
    cache.add(CachedReply(format=1, **key._asdict(), text=word))


def test_the_id_follows_from_the_key() -> None:
    key = ReplyKey("e" * 64, "llm", "one", "p" * 64, 123)
    ids = {key._replace(**{name: value}).request_id for name, value in zip(key._fields, [*"abcd", 1], strict=True)}
    assert len(ids | {key.request_id}) == 6
    assert key.request_id == ReplyKey(*key).request_id


def test_published_prompts_go_through_files_as_well(project: Project, tmp_path: Path) -> None:
    """The requests have the published prompt and no schema. The row names the models and the prompt."""
    paths = [str(path) for path in clones(tmp_path)]
    prompts = [word for path in paths for word in ("--prompts", path)]
    with JudgeServer(replies("true")) as server:
        set_up(project, server, votes=3)
        validated(project, *prompts, key=None)
        live = copy_of(project, "live")
        figures = validated(live, *prompts)
        assert {each["model"] for each in figures} == {"one, the paper's prompt"}
        assert {asked.messages[0]["content"] for asked in server.asked} == {"Compare two commands."}
        assert not any("response_format" in asked.body for asked in server.asked)
        calls = len(server.asked)
        ask_in_rounds(project, server, "--validation", "--judge", "llm", *prompts)
        assert validated(project, *prompts, key=None) == figures
        assert len(server.asked) == 2 * calls > 0


def test_published_prompts_never_judge_submissions(project: Project, tmp_path: Path) -> None:
    with JudgeServer(says("yes")) as server:
        set_up(project, server)
    path, other = map(str, clones(tmp_path))
    refused = run(project, "panel", "export", str(tmp_path / "round"), "--judge", "llm", "--prompts", path)
    assert (refused.exit_code, "--prompts needs --validation" in refused.stderr) == (2, True)
    options = ("--judge", "llm", "--prompts", other)
    refused = run(project, "judges", "validate", *options)
    assert (refused.exit_code, "the judge llm has no prompt here; expected exec-llm" in refused.stderr) == (2, True)
