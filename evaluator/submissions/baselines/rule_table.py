"""This module holds the rules of the rule-based translator. A rule has keywords for an intent and a command template.

The author of the rules used only the purpose of the utilities and had not read any suite's tasks. A rule applies if all
its keyword expressions match the instruction and all slots of its template have values. Letter case does not matter.
The rule with the most keywords and slots wins. If several rules have equally many, the first of them wins.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """A rule for one intent: regular expressions that must all match, and a command template with `{slot}` parts."""

    keywords: tuple[str, ...]
    template: str


_COUNT = r"\bcount\b|\bhow many\b|\bnumber of\b|\btotal number\b"
_SHOW = r"\bshow\b|\bprint\b|\bdisplay\b|\blist\b|\boutput\b|\bwhat\b|\bfind\b|\bget\b|\bsearch\b"
_DELETE = r"\bdelete\b|\bremove\b|\berase\b"
_REPLACE = r"\breplac\w*|\bsubstitut\w*|\bchange\b"
_FILES = r"\bfiles?\b|director(?:y|ies)\b|\bfolders?\b|\bscripts?\b|\blinks?\b"
_CONTAIN = r"\bcontain\w*|\bmatch\w*|\bwith the (?:word|text|string)\b|\boccurrences?\b"
_UNIQUE = r"\bunique\b|\bdistinct\b|\bduplicates?\b|\bdifferent\b"
_COPY = r"\bcopy\b|\bduplicate\b"
_MOVE = r"\bmove\b|\brename\b"
_ARCHIVE = r"\barchive\b|\btarball\b|\btar\b"
_EACH = r"\beach\b|\bevery\b|\bper\b"
_LARGEST = r"\blargest\b|\bbiggest\b"
_CREATE = r"\bcreate\b|\bmake\b"
_SECOND = " | cut -d' ' -f2-"
_COLUMN = r"\bcolumn\b|\bfield\b"

RULES: Final = (
    Rule((_SHOW, _FILES), "find {directory} {tests}"),
    Rule((_COUNT, _FILES), "find {directory} {tests} | wc -l"),
    Rule((_DELETE, _FILES), "find {directory} {tests} -delete"),
    Rule((_DELETE, r"\bempty\b", r"director(?:y|ies)|folders?"), "find {directory} -type d -empty -delete"),
    Rule((_SHOW, r"\bsizes?\b", _FILES), "find {directory} {tests} -exec du -h {{}} +"),
    Rule((_SHOW, r"\bdetail\w*|\blong format\b"), "ls -l {directory}"),
    Rule((_SHOW, r"\bhidden\b", r"\ball\b|\bincluding\b"), "ls -A {directory}"),
    Rule((_SHOW, r"\bsort\w*|\border\w*", r"\bsize\b"), "ls -lS {directory}"),
    Rule((_SHOW, r"\bsort\w*|\border\w*", r"\btime\b|\bdate\b|\bnewest\b|\brecent\w*"), "ls -lt {directory}"),
    Rule(
        (_LARGEST, r"\bfiles?\b"),
        "find {directory} {tests} -printf '%s %p\\n' | sort -rn | head -n {number1}" + _SECOND,
    ),
    Rule((_LARGEST, r"\bfile\b"), "find {directory} {tests} -printf '%s %p\\n' | sort -rn | head -n 1" + _SECOND),
    Rule(
        (r"\bsmallest\b", r"\bfile\b"),
        "find {directory} -type f -printf '%s %p\\n' | sort -n | head -n 1" + _SECOND,
    ),
    Rule((r"\bnewest\b|\bmost recent\w*|\blatest\b", _FILES), "ls -t {directory} | head -n 1"),
    Rule((r"\boldest\b", _FILES), "ls -tr {directory} | head -n 1"),
    Rule((r"\bdisk (?:space|usage)\b|\btotal size\b|\bhow much space\b",), "du -sh {directory}"),
    Rule((r"\bdisk (?:space|usage)\b", _EACH), "du -h --max-depth=1 {directory}"),
    Rule((r"\bfree\b|\bavailable\b", r"\bdisk\b|\bspace\b|\bfile ?systems?\b"), "df -h"),
    Rule((_COUNT, r"\blines?\b"), "wc -l < {file1}"),
    Rule((_COUNT, r"\blines?\b", _CONTAIN), "grep -c {text1} {file1}"),
    Rule((_COUNT, r"\blines?\b", _EACH, r"\bfiles?\b"), "find {directory} {tests} -exec wc -l {{}} +"),
    Rule(
        (_COUNT, r"\blines?\b", r"\ball\b|\btotal\b", r"\bfiles\b"), "find {directory} {tests} -exec cat {{}} + | wc -l"
    ),
    Rule((_COUNT, r"\bwords?\b"), "wc -w < {file1}"),
    Rule((_COUNT, r"\bcharacters?\b"), "wc -m < {file1}"),
    Rule((_COUNT, r"\bbytes?\b"), "wc -c < {file1}"),
    Rule((_COUNT, r"\boccurrences?\b|\btimes\b"), "grep -o {text1} {file1} | wc -l"),
    Rule((_COUNT, _UNIQUE, r"\blines?\b"), "sort -u {file1} | wc -l"),
    Rule((r"\bfirst\b", r"\blines?\b"), "head -n {number1} {file1}"),
    Rule((r"\blast\b", r"\blines?\b"), "tail -n {number1} {file1}"),
    Rule((r"\bfirst line\b",), "head -n 1 {file1}"),
    Rule((r"\blast line\b",), "tail -n 1 {file1}"),
    Rule((r"\blines?\b", r"\bfrom\b|\bbetween\b|\bto\b|\bthrough\b"), "sed -n {number1},{number2}p {file1}"),
    Rule((r"\bline (?:number )?\d",), "sed -n {number1}p {file1}"),
    Rule((r"\blines?\b", _CONTAIN), "grep {text1} {file1}"),
    Rule((r"\blines?\b", _CONTAIN, r"\bnot\b|n't\b|\bexcept\b|\bwithout\b"), "grep -v {text1} {file1}"),
    Rule((r"\blines?\b", _CONTAIN, r"\bignor\w+ case\b|\bcase[- ]insensitiv\w*"), "grep -i {text1} {file1}"),
    Rule((r"\blines?\b", _CONTAIN, r"\bline numbers?\b"), "grep -n {text1} {file1}"),
    Rule((r"\blines?\b", r"\b(?:start|begin)\w* with\b"), "grep ^{text1} {file1}"),
    Rule((r"\bfiles\b", _CONTAIN, r"\btext\b|\bword\b|\bstring\b|\bphrase\b"), "grep -rl {text1} {directory}"),
    Rule((r"\brecursive\w*", _CONTAIN), "grep -r {text1} {directory}"),
    Rule((_CONTAIN, r"\bfiles\b"), "grep -rl --include='*.{extension}' {text1} {directory}"),
    Rule((_REPLACE, r"\bin\b"), "sed -i 's/{basic1}/{basic2}/g' {file1}"),
    Rule((_REPLACE, r"\bfiles\b"), "find {directory} {tests} -exec sed -i 's/{basic1}/{basic2}/g' {{}} +"),
    Rule((_DELETE, r"\blines?\b", _CONTAIN), "sed -i '/{basic1}/d' {file1}"),
    Rule((_DELETE, r"\blines?\b", r"\bfrom\b|\bbetween\b|\bto\b|\bthrough\b"), "sed -i {number1},{number2}d {file1}"),
    Rule((_DELETE, r"\bblank lines?\b|\bempty lines?\b"), "sed -i '/^$/d' {file1}"),
    Rule((r"\bsort\w*",), "sort {file1}"),
    Rule((r"\bsort\w*", r"\bnumeric\w*|\bnumbers?\b"), "sort -n {file1}"),
    Rule((r"\bsort\w*", r"\brevers\w*|\bdescending\b"), "sort -r {file1}"),
    Rule((r"\bsort\w*", _UNIQUE), "sort -u {file1}"),
    Rule((r"\bsort\w*", _COLUMN), "sort -k{column},{column} {file1}"),
    Rule((_UNIQUE, r"\blines?\b"), "sort {file1} | uniq"),
    Rule((_UNIQUE, _EACH, _COUNT), "sort {file1} | uniq -c | sort -rn"),
    Rule((_COLUMN,), "awk '{{print ${column}}}' {file1}"),
    Rule((_COLUMN, r"\bcsv\b|\bcommas?\b"), "cut -d, -f{column} {file1}"),
    Rule((_COLUMN, r"\bcolons?\b|passwd"), "cut -d: -f{column} {file1}"),
    Rule((r"\bsum\b|\badd up\b|\btotal\b", _COLUMN), "awk '{{s += ${column}}} END {{print s}}' {file1}"),
    Rule((r"\baverage\b|\bmean\b", _COLUMN), "awk '{{s += ${column}}} END {{print s / NR}}' {file1}"),
    Rule((r"\bupper ?case\b|\bcapital letters\b",), "tr '[:lower:]' '[:upper:]' < {file1}"),
    Rule((r"\blower ?case\b",), "tr '[:upper:]' '[:lower:]' < {file1}"),
    Rule((r"\brevers\w*", r"\border of (?:the )?lines\b|\blines\b"), "tac {file1}"),
    Rule((r"\bdiff\w*|\bcompar\w*",), "diff {file1} {file2}"),
    Rule((r"\bcommon\b|\bboth\b", r"\blines?\b"), "comm -12 <(sort {file1}) <(sort {file2})"),
    Rule((r"\bconcatenat\w*|\bmerge\b|\bjoin\b|\bcombine\b",), "cat {file1} {file2} > {file3}"),
    Rule((r"\bappend\b|\badd\b", r"\bend of\b|\bto\b"), "echo {text1} >> {file1}"),
    Rule((r"\bcontents?\b|\bprint\b|\bdisplay\b|\bshow\b",), "cat {file1}"),
    Rule((_COPY,), "cp {file1} {file2}"),
    Rule((_COPY, _FILES, r"\bto\b|\binto\b"), "cp -r {file1} {directory}"),
    Rule((_MOVE,), "mv {file1} {file2}"),
    Rule((_DELETE, r"\bfile\b"), "rm {file1}"),
    Rule((_CREATE, r"director(?:y|ies)|folders?"), "mkdir -p {directory}"),
    Rule((_CREATE, r"\bempty file\b|\bfile (?:named|called)\b"), "touch {file1}"),
    Rule((_CREATE, r"\bfile\b", _CONTAIN), "echo {text1} > {file1}"),
    Rule((_CREATE, r"\bsym(?:bolic )?link\b|\bsymlink\b|\bsoft link\b"), "ln -s {file1} {file2}"),
    Rule((_CREATE, r"\bhard link\b"), "ln {file1} {file2}"),
    Rule((_CREATE, _ARCHIVE, _FILES), "tar czf {file1} {directory}"),
    Rule((r"\bextract\b|\bunpack\b|\buntar\b",), "tar xf {file1}"),
    Rule((r"\bextract\b|\bunpack\b|\buntar\b", r"\binto\b|\bto\b"), "tar xf {file1} -C {directory}"),
    Rule((_SHOW, _ARCHIVE, r"\bcontents?\b|\bmembers?\b|\bfiles\b"), "tar tf {file1}"),
    Rule((r"\b(?:g?zip|compress)\b",), "gzip {file1}"),
    Rule((r"\bcompress\b|\bgzip\b", r"\bkeep\w*"), "gzip -k {file1}"),
    Rule((r"\bdecompress\b|\bgunzip\b|\buncompress\b",), "gunzip {file1}"),
    Rule((r"\bpermissions?\b|\bmode\b|\bchmod\b",), "chmod {mode} {file1}"),
    Rule((r"\bpermissions?\b|\bmode\b|\bchmod\b", r"\bfiles\b|\brecursive\w*"), "chmod -R {mode} {directory}"),
    Rule((r"\bmake\b|\bset\b", r"\bexecutable\b"), "chmod +x {file1}"),
    Rule(
        (r"\bmake\b|\bset\b", r"\bexecutable\b", r"\bscripts\b|\bfiles\b"),
        "find {directory} {tests} -exec chmod +x {{}} +",
    ),
    Rule((_SHOW, r"\bpermissions?\b|\bmode\b"), "stat -c %a {file1}"),
    Rule((r"\bown(?:er|ership)\b", r"\bchange\b|\bset\b|\bmake\b"), "chown {user} {file1}"),
    Rule(
        (r"\bown(?:er|ership)\b", r"\bchange\b|\bset\b", r"\brecursive\w*|\beverything\b"),
        "chown -R {user} {directory}",
    ),
    Rule((r"\bgroup\b", r"\bchange\b|\bset\b"), "chgrp {group} {file1}"),
    Rule((_SHOW, r"\bowner\b|\bowns\b"), "stat -c %U {file1}"),
    Rule((r"\bprocess\w*", _SHOW), "ps aux"),
    Rule((r"\bprocess\w*", _COUNT), "ps -e --no-headers | wc -l"),
    Rule((r"\bprocess\w*", r"\bkill\b|\bstop\b|\bterminate\b"), "pkill -x {text1}"),
    Rule((r"\bprocess\w*", r"\buser\b|\bowned\b"), "ps -u {user}"),
    Rule((r"\bprocess id\b|\bpids?\b",), "pgrep -x {text1}"),
    Rule((r"\benvironment variables?\b",), "env"),
    Rule((r"\benvironment variable\b|\bvalue of\b",), "printenv {text1}"),
    Rule((r"\b(?:today|current date)\b",), "date +%F"),
    Rule((r"\bday of the week\b|\bweekday\b",), "date +%A"),
    Rule((r"\bhost ?name\b",), "hostname"),
    Rule((r"\bkernel\b",), "uname -r"),
    Rule((r"\bcurrent (?:working )?directory\b", r"\bpath\b|\bname\b|\bwhat\b"), "pwd"),
    Rule((r"\bwho am i\b|\bcurrent user\b|\buser ?name\b",), "whoami"),
    Rule((r"\bgroups\b",), "id -Gn {user}"),
    Rule((r"\bcheck ?sum\b|\bsha-?256\b|\bhash\b",), "sha256sum {file1}"),
    Rule((r"\bmd5\b",), "md5sum {file1}"),
    Rule((r"\btype of\b|\bfile type\b",), "file {file1}"),
)
