"""Tests of the change set, which lists every path that a command changed and the kind of each change."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from evaluator.records import PathChange
from tests.sandbox_harness import SandboxHarness

pytestmark = pytest.mark.engine

EMPTY = hashlib.sha256(b"").hexdigest()


def facts(change: PathChange) -> dict[str, Any]:
    """Return the fields of a change that differ from their defaults, as JSON values."""
    return change.model_dump(mode="json", exclude_defaults=True)


def brief(harness: SandboxHarness, command: str, **options: Any) -> list[tuple[str, ...]]:
    """Return the kind and path of every change, and its type if it is known."""
    return [
        (change.kind.value, change.path.decode(), *([change.type.value] if change.type else []))
        for change in harness.run(command, **options).changes
    ]


T = "/srv/tiny/"
TABLE: dict[str, list[tuple[str, ...]]] = {
    "true": [],
    "cat file; ls -lR /; stat link; find / >/dev/null 2>&1": [],
    "touch new": [("added", T + "new", "file")],
    "mkdir -p a/b": [("added", T + "a", "directory"), ("added", T + "a/b", "directory")],
    "ln -s nowhere dangling": [("added", T + "dangling", "link")],
    "mkfifo queue": [("added", T + "queue", "fifo")],
    "ln file second": [("added", T + "second", "file")],
    "echo more >> file": [("modified", T + "file", "file")],
    ": > file": [("modified", T + "file", "file")],
    "echo x > link": [("modified", T + "file", "file")],
    "sed -i s/alpha/gamma/ file": [("modified", T + "file", "file")],
    "chmod 600 file": [("mode", T + "file", "file")],
    "chmod 711 empty": [("mode", T + "empty", "directory")],
    "chmod u+s,g+s,+t tool": [("mode", T + "tool", "file")],
    "chown 5:6 file": [("mode", T + "file", "file")],
    "chown -h 5:6 link": [("mode", T + "link", "link")],
    "chgrp 5 empty": [("mode", T + "empty", "directory")],
    "rm file": [("deleted", T + "file")],
    "rmdir empty": [("deleted", T + "empty")],
    "rm -r full": [("deleted", T + "full")],
    "rm full/*": [("deleted", T + "full/one"), ("deleted", T + "full/two")],
    "mv file moved": [("deleted", T + "file"), ("added", T + "moved", "file")],
    "mv empty void": [("deleted", T + "empty"), ("added", T + "void", "directory")],
    "mv full whole": [
        ("deleted", T + "full"),
        ("added", T + "whole", "directory"),
        ("added", T + "whole/.hidden", "file"),
        ("added", T + "whole/one", "file"),
        ("added", T + "whole/two", "file"),
    ],
    "ln -sfn full link": [("modified", T + "link", "link")],
    "rm link; echo file > link": [("type", T + "link", "file")],
    "rm file; mkdir file": [("type", T + "file", "directory")],
    "rmdir empty; touch empty": [("type", T + "empty", "file")],
    "rm -r full; ln -s empty full": [("type", T + "full", "link")],
    "rm pipe; touch pipe": [("type", T + "pipe", "file")],
    "rm file; mkdir file; touch file/in": [("type", T + "file", "directory"), ("added", T + "file/in", "file")],
    "rm -r full; mkdir full": [
        ("deleted", T + "full/.hidden"),
        ("deleted", T + "full/one"),
        ("deleted", T + "full/two"),
    ],
    "rm -r full; mkdir full; printf 'same\\n' > full/one; echo other > full/two": [
        ("deleted", T + "full/.hidden"),
        ("modified", T + "full/two", "file"),
    ],
    "rm -r full; mkdir -m 700 full; mkdir full/one": [
        ("mode", T + "full", "directory"),
        ("deleted", T + "full/.hidden"),
        ("type", T + "full/one", "directory"),
        ("deleted", T + "full/two"),
    ],
    "touch new; rm new; mkdir d; rmdir d": [],
    "mv file moved; mv moved file": [],
    "cp -p file copy; mv copy file": [],
    "echo more >> file; printf 'alpha\\nbeta\\n' > file": [],
    "chmod 600 file; chmod 644 file": [],
    "chown 5 file; chown 0 file": [],
    ": >> file; exec 3<>tool": [],
    "touch file; touch -d 2020-01-01 full empty": [],
    "rm file; printf 'alpha\\nbeta\\n' > file": [],
    "mv full x; mv x full": [],
    "rm -r full; mkdir full; printf 'same\\n' | tee full/one full/two >/dev/null; echo kept > full/.hidden": [],
    "rm /bin; mkdir /bin; /usr/bin/touch /bin/ls": [("type", "/bin", "directory"), ("added", "/bin/ls", "file")],
    "rm /dev/fd; mkdir /dev/fd; : > /dev/fd/0": [("type", "/dev/fd", "directory"), ("added", "/dev/fd/0", "file")],
    "echo x > /dev/null; echo x > /dev/full": [],
    "echo x > /dev/shm/kept; echo x > /run/kept; echo x > /tmp/kept": [
        ("added", "/dev/shm/kept", "file"),
        ("added", "/run/kept", "file"),
        ("added", "/tmp/kept", "file"),
    ],
    "rm -rf --no-preserve-root /srv /home 2>/dev/null": [("deleted", "/home"), ("deleted", "/srv")],
    "touch .wh.file .wh..wh..opq": [("added", T + ".wh..wh..opq", "file"), ("added", T + ".wh.file", "file")],
}


@pytest.mark.parametrize("command", TABLE)
def test_what_a_command_changed(sandbox: SandboxHarness, command: str) -> None:
    """The change set lists every net effect of a command.

    It does not list a change that was undone, or a file that was written again with the same content.
    """
    assert sorted(brief(sandbox, command), key=lambda row: row[1]) == sorted(TABLE[command], key=lambda row: row[1])


def test_a_directory_made_again_hides_what_stood_anywhere_below_it(sandbox: SandboxHarness) -> None:
    """If a directory is deleted and made again, all deleted files below it are listed.

    Only the topmost directory has the mark of the overlay.
    """
    changes = brief(sandbox, "cd /; rm -r srv; mkdir -p srv/tiny/full; echo other > srv/tiny/full/one")
    below_full = sorted(row for row in changes if row[1].startswith(T + "full"))
    assert below_full == [
        ("deleted", T + "full/.hidden"),
        ("deleted", T + "full/two"),
        ("modified", T + "full/one", "file"),
    ]


DETAILS: dict[str, dict[str, Any]] = {
    "printf hello > new": {
        "path": T + "new",
        "kind": "added",
        "type": "file",
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
        "size": 5,
        "content": hashlib.sha256(b"hello").hexdigest(),
    },
    "mkdir -m 1777 new": {"path": T + "new", "kind": "added", "type": "directory", "mode": 0o1777, "uid": 0, "gid": 0},
    "ln -s '/a b/../c' new": {
        "path": T + "new",
        "kind": "added",
        "type": "link",
        "mode": 0o777,
        "uid": 0,
        "gid": 0,
        "target": "/a b/../c",
    },
    "ln -s $'\\xff' new": {
        "path": T + "new",
        "kind": "added",
        "type": "link",
        "mode": 0o777,
        "uid": 0,
        "gid": 0,
        "target": {"base64": "/w=="},
    },
    "chown 7:8 file; chmod 4755 file": {
        "path": T + "file",
        "kind": "mode",
        "type": "file",
        "mode": 0o4755,
        "uid": 7,
        "gid": 8,
        "size": 11,
        "content": hashlib.sha256(b"alpha\nbeta\n").hexdigest(),
        "old_mode": 0o644,
        "old_uid": 0,
        "old_gid": 0,
    },
    "chmod 600 file; : > file": {
        "path": T + "file",
        "kind": "modified",
        "type": "file",
        "mode": 0o600,
        "uid": 0,
        "gid": 0,
        "size": 0,
        "content": EMPTY,
        "old_mode": 0o644,
        "old_uid": 0,
        "old_gid": 0,
    },
    "rm tool; touch tool": {
        "path": T + "tool",
        "kind": "modified",
        "type": "file",
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
        "size": 0,
        "content": EMPTY,
        "old_mode": 0o755,
        "old_uid": 0,
        "old_gid": 0,
    },
    "rm full/one": {"path": T + "full/one", "kind": "deleted"},
    "rm empty -r; mkfifo empty": {
        "path": T + "empty",
        "kind": "type",
        "type": "fifo",
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
    },
}


@pytest.mark.parametrize("command", DETAILS)
def test_what_is_told_of_a_change(sandbox: SandboxHarness, command: str) -> None:
    """A change has the new mode, owner, size, content and target. It has the old mode and owner if they can differ."""
    (change,) = sandbox.run(command).changes
    assert {"size": 0, **facts(change)} == {"size": 0, **DETAILS[command]}


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("touch -d '2001-02-03 04:05:06' file", {"file": ("touched", 981_173_106)}),
        ("touch file", {"file": ("touched", 1_741_944_600)}),
        ("touch -d 2001-02-03 new; echo >> tool", {"new": ("added", 981_158_400), "tool": ("modified", 1_741_944_600)}),
        ("touch -r tool file", {}),
        ("cat file > /dev/null", {}),
        ("touch -h -d @5 link", {"link": ("touched", 5)}),
    ],
)
def test_modification_times_count_where_asked(
    sandbox: SandboxHarness, command: str, kinds: dict[str, tuple[str, int]]
) -> None:
    """A task that observes modification times gets them by the suite's clock.

    For other tasks, a new modification time alone is a change only if the command set it to another time.
    """
    changes = sandbox.run(command, observe=["mtime"]).changes
    times = {change.path.decode().removeprefix(T): (change.kind.value, change.mtime) for change in changes}
    assert times == kinds
    without = {change.kind.value: change.mtime for change in sandbox.run(command).changes}
    assert all((mtime is None) == (kind != "touched") and mtime != CLOCK for kind, mtime in without.items())


def test_changes_are_sorted_by_path(sandbox: SandboxHarness) -> None:
    """Changes are sorted by the bytes of their paths, independent of the order in which the command made them."""
    paths = [change.path for change in sandbox.run("touch b a é a.b; mkdir a-; touch a-/z").changes]
    assert paths == sorted(paths)
    assert len(paths) == 6


def test_the_next_command_finds_the_world_as_it_was(sandbox: SandboxHarness) -> None:
    """Nothing that a command leaves is visible to the next command."""
    look = "find / -xdev -printf '%p %m %U %G %s %T@ %l\\n' 2>/dev/null | sort | sha256sum"
    before = sandbox.run(look)
    sandbox.run("rm -rf /etc /srv /home; chmod 777 /; touch /x /dev/shm/x; echo > /usr/bin/env")
    assert sandbox.run(look).digest == before.digest


SET_LIST = (
    """perl -e 'my ($path, $name) = @ARGV; my $list = pack("L(SSL)*", 2, 1, 7, -1, 4, 7, -1, 32, 7, -1);"""
    """ syscall(188, $path, $name, $list, length($list), 0) == 0 or die $!'"""
)
CLOCK = 1_741_944_600


def test_an_access_list_is_part_of_the_mode(sandbox: SandboxHarness) -> None:
    """A default list of a directory is a change of rights, although its mode stays the same."""
    (change,) = sandbox.run(f"{SET_LIST} empty system.posix_acl_default").changes
    assert (change.kind.value, change.path.decode(), change.mode) == ("mode", T + "empty", 0o755)
    assert (change.acl, change.default_acl, change.old_default_acl) == (None, "user::rwx,group::rwx,other::rwx", None)


def test_hard_links_are_counted(sandbox: SandboxHarness) -> None:
    """A copy has one link. A file with two names has two, also if the world has the other name."""
    links = {change.path.decode(): change.links for change in sandbox.run("cp file copy; ln file second").changes}
    assert links == {T + "copy": 1, T + "second": 2}


@pytest.mark.parametrize(
    ("command", "times"),
    [
        ("touch file; echo >> tool; sed -i s/none/none/ full/one", {}),
        ("touch -d @5 file; touch -h -d @6 link; touch -d @7 empty", {"file": 5, "link": 6}),
        ("touch -d '2025-03-14 09:30:00' file", {}),
        ("touch -d '2038-01-01' file", {"file": 2_145_916_800}),
    ],
)
def test_a_time_that_a_command_sets_is_listed(sandbox: SandboxHarness, command: str, times: dict[str, int]) -> None:
    """Without `mtime`, a file with only another time is listed if this time is not during the command."""
    changes = [change for change in sandbox.run(command).changes if change.kind.value == "touched"]
    assert {change.path.decode().removeprefix(T): change.mtime for change in changes} == times


def test_a_time_in_an_archive_is_not_one_during_the_command(sandbox: SandboxHarness) -> None:
    """A member that the command made has no recorded time, so that two runs have equal evidence."""
    (packed,) = sandbox.run(
        "touch -d @5 /tmp/old; touch /tmp/new; sleep 1.1; touch /tmp/newer; cd /tmp; "
        "tar cf /srv/tiny/x.tar old new newer; rm old new newer"
    ).changes
    assert {member.name: member.mtime for member in packed.members or ()} == {
        b"old": 5,
        b"new": None,
        b"newer": None,
    }
