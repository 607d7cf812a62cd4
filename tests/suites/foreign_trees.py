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
cd "$3" || exit 4
strip.sh podman.log | grep -qx 'stdout 3' || exit 2
[ "$(strip.sh podman.log | tail -1)" = 'stdout after: leaf' ] || exit 2
grep -q stderr podman.log && exit 2
exit 0
"""
EABENCH: Mapping[str, str] = {
    "bash_1/test1/prompt": "Rename a.txt to b.txt\n",
    "bash_1/test1/bash.sh": "#!/bin/bash\nmv a.txt b.txt\n",
    "bash_1/test1/prerequisite.sh": "echo leaf > a.txt\n",
    "bash_1/test1/test.py": PYTHON_TEST,
    "bash_1/test2/prompt": "Without an answer\n",
    "bash_1/test2/test.py": "",
    "bash_2/bin/strip.sh": "sed -e 's/^ \\(std...\\) F /\\1 /' \"$1\"\n",
    "bash_2/test001/prompt": "Count the lines of\nlines.txt",
    "bash_2/test001/bash.sh": "#!/bin/bash\nwc -l < lines.txt\n",
    "bash_2/test001/evaluate.sh": EVALUATE,
    "bash_2/test001/home/test/lines.txt": "a\nb\nc\n",
    "bash_2/test001/home/test/test.sh": "#!/bin/bash\n. pre_test.sh\nsudo ./bash.sh\n. post_test.sh\n",
    "bash_2/test001/home/test/pre_test.sh": "echo leaf > kept\n",
    "bash_2/test001/home/test/post_test.sh": "echo after: $(cat kept)\n",
    "bash_2/test002/prompt": "Which process naps?",
    "bash_2/test002/bash.sh": "pgrep -x sleep >/dev/null && echo 3\n",
    "bash_2/test002/evaluate.sh": EVALUATE,
    "bash_2/test002/home/test/pre_test.sh": "sleep 20 >/dev/null 2>&1 &\n",
    "bash_2/test002/home/test/post_test.sh": "echo after: leaf\n",
    "bash_2/test003/prompt": "Add two numbers given as arguments",
    "bash_2/test003/bash.sh": "echo $(($1 + $2))\n",
    "bash_2/test003/evaluate.sh": EVALUATE,
    "bash_2/test003/home/test/test.sh": ". bash.sh 1 2\n. bash.sh 3 4\n",
    "bash_2/test004/prompt": "Name this machine",
    "bash_2/test004/bash.sh": "hostname\n",
    "bash_2/test004/evaluate.sh": EVALUATE,
    "bash_2/test004/podman.opts": "--hostname=owl --timeout=10\n",
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
