"""This module generates the set-up and the verifier for an imported test of nl2bash-eabench.

The generated verifier runs the test's own program (`test.py` or `evaluate.sh`). It exits with 0 if this program reports
a pass, and otherwise with 1. A crash of the program counts as no pass. If the program crashes even for the reference,
the audit reports this. A command may overwrite the program, so the verifier writes it again before it runs it.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

WORK: Final = "/run/verify/work"
_REPLAY: Final = """cat /run/verify/stdout
cat /run/verify/stderr >&2
exit "$(cat /run/verify/status)"
"""
_SOURCED_REPLAY: Final = """#!/bin/bash
cat /run/verify/stdout
cat /run/verify/stderr >&2
(exit "$(cat /run/verify/status)")
"""
"""A replay script for drivers that may source the answer: `exit` would end the driver too."""
_PUT: Final = """put() { mkdir -p "${1%/*}"; rm -rf "$1"; base64 -d > "$1"; chmod "$2" "$1"; }
link() { mkdir -p "${1%/*}"; ln -sfn "$2" "$1"; }
"""


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
    """Return the build script of the worlds for `bash_1` tests. It only creates the folder in which commands start."""
    return "#!/bin/bash\n# shellcheck disable=all\nset -eu\nmkdir -p /app/output\n"


def python_setup(name: str, files: Mapping[str, FileEntry]) -> str:
    """Return a set-up script. It writes a test's files to two folders and makes an empty file for the answer."""
    return (
        f"set -e\n{_PUT}{files_script('/app/code', files)}"
        f"touch /app/code/{name}.sh\ncd /app\ncp -P code/* .\nprintf 'cp code/* .\\n' > run.sh\n"
    )


def python_verify(name: str, program: FileEntry) -> str:
    """Return the verifier that runs the test's `test.py`. The answer is a script that replays a candidate's output."""
    replay = FileEntry(_REPLAY.encode(), 0o644)
    return (
        f"cd /app || exit 1\n{_PUT}{files_script('/app', {'test.py': program, f'{name}.sh': replay})}"
        f"""rm -rf output; mkdir output
python3 -I test.py >/dev/null 2>&1 </dev/null
case $(cat output/results_{name}.json 2>/dev/null) in
*'"result": "Pass"'*) exit 0 ;;
esac
exit 1
"""
    )


def home_build() -> str:
    """Return the build script for tests of `bash_2` and `bash_3`. It creates the user `test`. Commands run as root."""
    return """#!/bin/bash
# shellcheck disable=all
set -eu
id test >/dev/null 2>&1 || useradd -M -u 2000 test
echo 'test ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/test
mkdir -p /home/test /var/lib/eabench
touch /var/lib/eabench/out /var/lib/eabench/err
"""


def home_setup(files: Mapping[str, FileEntry]) -> str:
    """Return the set-up that writes a test's home folder. Scripts that the test lacks become empty files."""
    own = {name: file for name, file in files.items() if name.startswith("home/")}
    return (
        f"set -e\n{_PUT}{files_script('', own)}cd /home/test\n"
        "for part in pre_test.sh bash.sh post_test.sh test.sh; do [ -e $part ] || touch $part; chmod +x $part; done\n"
    )


def home_verify(
    test_set: str, name: str, files: Mapping[str, FileEntry], tools: Mapping[str, FileEntry], after: str
) -> str:
    """Return the verifier of a test with a home folder.

    `after` is the second part of the test's script. It begins with the call of the answer, which only prints the
    candidate's recorded output here. Then the verifier runs the test's `evaluate.sh`, which checks the output.
    """
    repository = f"{WORK}/{test_set}"
    restored = {path: files[path] for path in ("home/test/post_test.sh",) if path in files}
    restored["home/test/bash.sh"] = FileEntry(_SOURCED_REPLAY.encode(), 0o755)
    runnable = {path: replace(file, mode=file.mode | 0o111) for path, file in tools.items()}
    reader = {path: replace(file, mode=file.mode | 0o111) for path, file in files.items() if "/" not in path}
    return f"""{_PUT}{files_script(f"{repository}/bin", runnable)}{files_script(f"{repository}/{name}", reader)}\
mkdir -p {WORK}/output
cp -pR /home {WORK}/output/home
{files_script("", restored)}cd /home/test || exit 1
(
{after}) >{WORK}/out 2>{WORK}/err </dev/null
cd {WORK} || exit 1
cat /var/lib/eabench/out out | sed -e 's+^+ stdout F +' > output/podman.log
cat /var/lib/eabench/err err | sed -e 's+^+ stderr F +' >> output/podman.log
touch output/diff.log output/home.log
PATH={repository}/bin:$PATH
if [ -x {test_set}/bin/epilogue.sh ]; then epilogue.sh {test_set} {name} output; fi >/dev/null 2>&1 </dev/null
{test_set}/{name}/evaluate.sh {name} {test_set} output >/dev/null 2>&1 </dev/null
[ $? = 0 ] || exit 1
"""
