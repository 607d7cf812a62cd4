"""Small trees in the layouts of other benchmarks. Their texts were written for these tests."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

SETUP = """#!/bin/bash
mkdir -p /testbed/den
echo 'one owl' > /testbed/owls.txt
touch -m -t202301010000.00 /testbed/den/old.txt
touch -t nonsense /testbed/den/never.txt"""
OWLS = "/testbed/owls.txt"
TASKS = [
    {"query": query, "gold": gold, "gold2": gold2, "difficulty": 1}
    for query, gold, gold2 in (
        (f"count the words of {OWLS}", f"wc -w < {OWLS}", f"wc -w {OWLS}"),
        ("remove  the directory nowhere", "rmdir nowhere", "rm -r nowhere"),
        ("fetch example.org", "curl example.org", "curl -s example.org"),
        ("make 7 copies", f"cp -v {OWLS} /testbed/copy", f"cp {OWLS} /testbed/copy"),
    )
]

PYTHON_TEST = """import json, subprocess
run = subprocess.run(["bash", "test1.sh"], capture_output=True, text=True)
with open("b.txt") as file:
    right = file.read() == "leaf\\n" and run.stdout == "" and run.stderr == ""
with open("output/results_test1.json", "w") as file:
    json.dump({"result": "Pass" if right else "Fail"}, file)
"""
EVALUATE = """#!/bin/bash
own=$PWD/$2/$1
cd "$3" || exit 4
strip.sh stderr podman.log | grep -q . && { echo "complained: $(strip.sh stderr podman.log)" >&2; exit 2; }
sed -i -e '/^A home.test.kept$/d' -e '/^[AC] home.test.made$/d' -e '/^C home.test$/d' home.log
sed -i -e '/^C .etc$/d' -e '/^[AC] .etc.hosts.made$/d' diff.log
[ -s diff.log ] && { echo "spurious: $(cat diff.log)" >&2; exit 2; }
[ -s home.log ] && { echo "spurious: $(cat home.log)" >&2; exit 2; }
[ "$(strip.sh stdout podman.log)" = "$(cat "$own/expected")" ] && exit 0
printf 'found %s' "$(strip.sh stdout podman.log)" >&2
exit 2
"""


def _home_test(number: int, prompt: str, answer: str, expected: str, **scripts: str) -> dict[str, str]:
    """Return the files of a test with a home folder. `scripts` are the scripts of the home folder."""
    folder = f"bash_2/test{number:03}"
    own = {f"{folder}/home/test/{name}.sh": text for name, text in scripts.items()}
    return {
        **own,
        f"{folder}/prompt": prompt,
        f"{folder}/bash.sh": answer,
        f"{folder}/expected": expected,
        f"{folder}/evaluate.sh": EVALUATE,
    }


EABENCH: Mapping[str, str] = {
    "bash_1/test1/prompt": "Rename a.txt to b.txt\n",
    "bash_1/test1/bash.sh": "#!/bin/bash\nmv a.txt b.txt\n",
    "bash_1/test1/prerequisite.sh": "echo leaf > a.txt\n",
    "bash_1/test1/test.py": PYTHON_TEST,
    "bash_1/test2/prompt": "Without an answer\n",
    "bash_1/test2/test.py": "",
    "bash_2/bin/strip.sh": 'sed -n "s/^ $1 F //p" "$2"\n',
    "bash_2/bin/epilogue.sh": "exit 0\n",
    **_home_test(
        1,
        "Count the lines of\nlines.txt",
        "#!/bin/bash\nwc -l < lines.txt\n",
        "3\nafter: leaf\n",
        test="#!/bin/bash\n. pre_test.sh\nsudo ./bash.sh\n. post_test.sh\n",
        pre_test="echo leaf > kept\n",
        post_test="echo after: $(cat kept)\n",
    ),
    "bash_2/test001/home/test/lines.txt": "a\nb\nc\n",
    **_home_test(
        2,
        "Which process naps?",
        "pgrep -x sleep >/dev/null && echo 3\n",
        "3\nafter: leaf\n",
        pre_test="sleep 20 >/dev/null 2>&1 &\n",
        post_test="echo after: leaf\n",
    ),
    **_home_test(
        3,
        "Add two numbers given as arguments",
        "echo $(($1 + $2))\n",
        "3\n7\n",
        test="#!/bin/bash\n. bash.sh 1 2\n./bash.sh 3 4\n",
    ),
    **_home_test(4, "Name this machine", "hostname\n", "owl\n"),
    "bash_2/test004/podman.opts": "--hostname=owl --timeout=10\n",
    **_home_test(
        5,
        "Say which user is in which folder",
        "id -un; pwd\n",
        "test\n/tmp\nroot\n/home/test\n",
        test="#!/bin/bash\ncd /tmp\nsudo -u test /home/test/bash.sh\n"
        "cd - >/dev/null\nif ./bash.sh; then . post_test.sh; fi\n",
    ),
    **_home_test(6, "Make the file made", "touch made\n", "/home/test/made\n", post_test="ls ~test/made\n"),
    **_home_test(
        7,
        "Copy /etc/hosts to /etc/hosts.made",
        "sudo cp /etc/hosts /etc/hosts.made\n",
        "same\n",
        post_test="cmp /etc/hosts /etc/hosts.made && echo same\n",
    ),
    **_home_test(8, "Print the word done", "echo done\n", "done\n"),
    "bash_2/test008/podman.opts": "--timeout=1 --network host\n",
    **_home_test(9, "Show the greeting of this machine", "cat /var/lib/greeting\n", "hello owl\n"),
    "bash_2/test009/podman.opts": "--volume $(pwd)/${work_dir}/var:/var:ro\n",
    "bash_2/test009/var/lib/greeting": "hello owl\n",
}

NL2BASH = [
    ("Print the first 2 lines of notes.txt", "head -n 2 notes.txt"),
    ("Find files named *.owl below nest", "find nest -name '*.owl'"),
    ("Sort it and count", "sort notes.txt | uniq -c"),
    ("Remove notes.txt", "rm notes.txt"),
    ("Show a variable", "echo $HOME"),
    ("Ask a far machine", "ssh host ls"),
    ("Join three", "cat a.txt b.txt c.txt"),
    ("Delete what is empty", "find nest -empty -delete"),
    ("Not a command", "'"),
]


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder, and make the scripts executable."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return root


def intercode_tree(root: Path) -> Path:
    """Write a clone of InterCode, whose tasks have one command each."""
    one = [{"query": task["query"], "gold": task["gold"]} for task in TASKS]
    files = {"data/nl2bash/nl2bash_fs_1.json": json.dumps(one), "docker/bash_scripts/setup_nl2b_fs_1.sh": SETUP}
    return write_files(root, files)


def eabench_tree(root: Path) -> Path:
    """Write a clone of nl2bash-eabench."""
    return write_files(root, EABENCH)


def nl2bash_tree(root: Path) -> Path:
    """Write the folder with the two files of NL2Bash."""
    lines = {"all.nl": [nl for nl, _ in NL2BASH], "all.cm": [command for _, command in NL2BASH]}
    return write_files(root, {name: "".join(f"{line}\n" for line in each) for name, each in lines.items()})


def wheel(path: Path) -> Path:
    """Write a wheel with tasks and scripts at the paths that InterCode-ALFA's wheel has."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in (1, 2):
            archive.writestr(f"icalfa/assets/datasets/nl2bash_fs_{number}.json", json.dumps(TASKS[:number]))
            archive.writestr(f"icalfa/assets/docker/setup_nl2b_fs_{number}.sh", SETUP)
        about = "Metadata-Version: 2.1\nName: icalfa\nVersion: 0.3.6\n"
        archive.writestr("icalfa-0.3.6.dist-info/METADATA", about)
        archive.writestr("icalfa-0.3.6.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("icalfa-0.3.6.dist-info/RECORD", "")
    return path
