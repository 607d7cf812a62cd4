"""This module generates the set-up, the driver and the verifier of an imported test of nl2bash-eabench.

The set-up writes the test's files. The driver is the benchmark's own: it runs `test.py` or `test.sh`, which calls the
answer. The verifier then applies the benchmark's rules about time-outs, standard error and changed files, with the
test's own `evaluate.sh` if there is one. The verifier exits with 0 for a pass and with 1 otherwise, and writes its
reason on standard error. A command may overwrite the programs that decide, so the verifier has its own copies.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

WORK: Final = "/run/verify/work"
ANSWER_OF_HOME: Final = "/home/test/bash.sh"
SLOWNESS: Final = 10
"""The ratio of our wall-clock time-out to the benchmark's. Other work on the machine makes a command slower."""

_PUT: Final = """put() { mkdir -p "${1%/*}"; rm -rf "$1"; base64 -d > "$1"; chmod "$2" "$1"; }
link() { mkdir -p "${1%/*}"; ln -sfn "$2" "$1"; }
"""
_HEADER: Final = "#!/bin/bash\n# shellcheck disable=all\nset -eu\n"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file to write, with its bytes and mode. For a link, `data` is None and `target` is the link's target."""

    data: bytes | None
    mode: int
    target: str = ""


def files_script(folder: str, files: Mapping[str, FileEntry]) -> str:
    """Return shell code that creates files below a folder. Arbitrary bytes are encoded as base64."""
    return "".join(_file_script(f"{folder}/{name}", file) for name, file in files.items())


def _file_script(path: str, file: FileEntry) -> str:
    if file.data is None:
        return f"link {shlex.quote(path)} {shlex.quote(file.target)}\n"
    lines = base64.encodebytes(file.data).decode()
    return f"put {shlex.quote(path)} {file.mode:o} <<'.'\n{lines}.\n"


def python_build() -> str:
    """Return the build script of the world for `bash_1` tests. It only creates the folder in which commands start."""
    return f"{_HEADER}mkdir -p /app/output\n"


def python_setup(files: Mapping[str, FileEntry], prerequisite: str) -> str:
    """Return a set-up script. It writes a test's files to two folders, and runs the test's `prerequisite`."""
    run = f"bash {prerequisite} >/dev/null 2>&1 </dev/null || true\n" if prerequisite else ""
    copy = "cd /app\ncp -P code/* .\nprintf 'cp code/* .\\n' > run.sh\n"
    return f"set -e\n{_PUT}{files_script('/app/code', files)}{copy}{run}"


def python_driver(name: str, prerequisite: str) -> str:
    """Return the driver of a `bash_1` test, which runs the test's `test.py`, and `prerequisite` before it.

    The owner is set again so that all of the folder is in the layer of changes. Otherwise, a change below the folder
    could alter the order in which the folder lists its files. After `prerequisite` has started processes, the process
    of `test.py` waits, so that its own start takes a small share of the CPU.
    """
    before = f"bash {prerequisite} >/dev/null 2>&1 </dev/null\n" if prerequisite else ""
    wait = "sleep 3; " if prerequisite else ""
    return (
        f"cd /app\nchown -R root:root .\n{before}({wait}exec python3 -I -B test.py)\ncat output/results_{name}.json\n"
    )


def python_verify(name: str) -> str:
    """Return the verifier of a `bash_1` test, which reads the report of `test.py`.

    The verifier refuses changes outside the test's folder, and changes of the benchmark's programs in the folder.
    """
    return f"""while read -r letter path; do
case $path in
/app/output|/app/output/results_{name}.json) ;;
/app/output/*|/app/code*|/app/test.py|/app/run.sh|[!/]*) false ;;
/app|/app/*) ;;
*) false ;;
esac || {{ echo "spurious change: $letter $path" >&2; exit 1; }}
done < /run/verify/changes
python3 -I -B - /app/output/results_{name}.json <<'.'
import json, sys
try:
    with open(sys.argv[1]) as file:
        report = json.load(file)
except (OSError, ValueError):
    sys.exit("test.py wrote no report")
if report["result"] != "Pass":
    said = report.get("stderr") or report.get("reason") or ""
    said = " ".join(said) if isinstance(said, list) else said
    print(f"test.py reports {{report['result']}}: {{said}}".rstrip(": \\n"), file=sys.stderr)
    sys.exit(1)
.
"""


def home_build() -> str:
    """Return the build script for tests of `bash_2` and `bash_3`. It creates the user `test`. Commands run as root.

    The tests were written for Red Hat. The script gives our base the settings and the names of programs that they need,
    as far as the base lacks them.
    """
    return f"""{_HEADER}sed -i 's+^SHELL=.*+SHELL=/bin/bash+; $a CREATE_MAIL_SPOOL=yes' /etc/default/useradd
sed -i 's+^MAIL_DIR.*+MAIL_DIR /var/spool/mail+; $a CREATE_HOME yes' /etc/login.defs
sed -E -i 's/^VERSION_ID="([0-9]+)"/VERSION_ID="\\1.0"/' /etc/os-release
if [ -L /var/spool/mail ]; then rm /var/spool/mail; mv /var/mail /var/spool/mail; ln -s spool/mail /var/mail; fi
getent group wheel >/dev/null || groupadd -r wheel
[ -e /usr/sbin/adduser ] || ln -s useradd /usr/sbin/adduser
[ -e /usr/bin/rename ] || ln -s rename.ul /usr/bin/rename
id test >/dev/null 2>&1 || useradd -M -u 2000 -s /bin/bash test
echo 'test ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/test
mkdir -p /home/test
"""


def home_setup(files: Mapping[str, FileEntry], mounts: Mapping[str, str]) -> str:
    """Return the set-up that writes a test's home folder. `mounts` maps the test's other folders to their places."""
    own = {f"/{name}": file for name, file in files.items() if name.startswith("home/")}
    for folder, place in mounts.items():
        prefix = f"{folder}/"
        own |= {place + name.removeprefix(folder): file for name, file in files.items() if name.startswith(prefix)}
    script = files_script("", {path.removeprefix("/"): file for path, file in own.items()})
    return f"set -e\n{_PUT}{script}rm -f {ANSWER_OF_HOME}\nchown -R test:test /home/test\n"


def home_driver(seconds: int) -> str:
    """Return the driver of a `bash_2` or `bash_3` test, which runs the test's `test.sh` for at most `seconds`."""
    return f"cd /home/test && HOME=/home/test timeout -k 5 {SLOWNESS * seconds} ./test.sh\n"


def home_verify(test_set: str, name: str, files: Mapping[str, FileEntry], tools: Mapping[str, FileEntry]) -> str:
    """Return the verifier of a `bash_2` or `bash_3` test, which runs the test's `evaluate.sh`.

    `evaluate.sh` reads the driver's output in a log of the container's engine, and the changes in two lists: `diff.log`
    for the system and `home.log` for the home folder. The list of the home folder holds no changes of modes.
    """
    repository = f"{WORK}/{test_set}"
    runnable = {path: replace(file, mode=file.mode | 0o111) for path, file in tools.items()}
    reader = {path: replace(file, mode=file.mode | 0o111) for path, file in files.items() if "/" not in path}
    return f"""status=$(cat /run/verify/status)
case $status in
[0-7]) ;;
124|137) echo "the test timed out" >&2; exit 1 ;;
*) echo "the test aborted with status $status" >&2; exit 1 ;;
esac
{_PUT}{files_script(f"{repository}/bin", runnable)}{files_script(f"{repository}/{name}", reader)}\
mkdir -p {WORK}/output
cd {WORK}/output || exit 1
ln -s /home home
for stream in stdout stderr; do sed -e '$a\\' /run/verify/$stream | sed -e "s+^+ $stream F +"; done > podman.log
declare -A system home
while read -r letter path; do
case $path in
/home|/home/*)
[ $letter = M ] && continue
home[${{path#/}}]=$letter
parent=${{path%/*}}; parent=${{parent#/}}
[ $letter = C ] || home[$parent]=${{home[$parent]:-C}} ;;
*)
system[$path]=${{letter/M/C}}
while path=${{path%/*}}; [[ $path == /* ]]; do system[$path]=${{system[$path]:-C}}; done ;;
esac
done < /run/verify/changes
for path in "${{!system[@]}}"; do echo "${{system[$path]}} $path"; done | sort > diff.log
for path in "${{!home[@]}}"; do echo "${{home[$path]}} $path"; done | sort > home.log
cd {WORK} || exit 1
PATH={repository}/bin:$PATH
{test_set}/bin/epilogue.sh {test_set} {name} output >/dev/null 2>&1 </dev/null
{test_set}/{name}/evaluate.sh {name} {test_set} output >/dev/null </dev/null 2>said
status=$?
cat said >&2
[ $status = 0 ] && exit 0
[ -s said ] || echo "evaluate.sh ended with $status" >&2
grep -q -s spurious said && head -n 3 output/diff.log output/home.log >&2
exit 1
"""
