"""The words of an instruction that fix the form of the answer's lines, and words that only look like them.

The twenty instructions were written before the rule, and no suite has them.
"""

from __future__ import annotations

from typing import Final

import pytest

from evaluator.judges.consensus.words_of_form import fixes_form

FIXED: Final = (
    "List the stamps in album/ that have no price, as paths starting with album/.",
    "Which recipes below kitchen mention saffron? Give their paths, beginning with kitchen/.",
    "Print the path (starting with tracks/) of every song longer than five minutes according to lengths.tsv.",
    'For each river in rivers.csv print its name and its length in kilometres, like "Aare 288".',
    'Show every port that is open according to ports.log together with its service, as in "443 https".',
    'Print the day and the highest temperature of each month in the form "2024-07-19: 34.1".',
    "Name the villages in map.txt that have more than one church, one per line.",
    "Print the users who have a key in keys/, each on a line of its own.",
    "Which bridges are closed today? Print one line for each bridge with its number and the reason.",
    "Show the sizes of the five largest photos below camera, without a heading.",
    "What are the titles in shelf.json? One title per line, no header and no total.",
)
FREE: Final = (
    "guests.txt holds one guest per line. Print the guests who have not answered.",
    "Print the names in roster.txt, which lists one name per line, that occur more than once.",
    "List the files below notes whose names start with draft.",
    "Print all lines in boot.log starting with a date.",
    "Show the paths of all logs that contain a line beginning with PANIC.",
    'Find the songs below music with titles like "Summer".',
    'Which scripts below tools print something like "usage:" when they are called without arguments?',
    "Print the entries of prices.csv that come without a total.",
    "Show the disk usage of the folders below /srv, like a report for the monthly review.",
)


@pytest.mark.parametrize("instruction", FIXED)
def test_words_fix_the_form_of_lines(instruction: str) -> None:
    assert fixes_form(instruction)


@pytest.mark.parametrize("instruction", FREE)
def test_similar_words_leave_the_form_free(instruction: str) -> None:
    assert not fixes_form(instruction)
