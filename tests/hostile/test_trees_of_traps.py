"""Attacks on the reader of a command's files: names, links, special files, archives, sizes, races."""

from __future__ import annotations

import pytest

from tests.attacks import WALL_S, Attack, Hold

pytestmark = pytest.mark.engine

FULL = ("exited", "disk", "timeout")

NAMES = [
    Attack(b"touch $'\\xff\\xfe' $'\\n' $'\\t' $'\\x01\\x02' ' ' '  '"),
    Attack("touch -- -rf --help '*' '?' '[a-z]' '~' '$(reboot)' '`reboot`' ';reboot' '|reboot' '&' '\"' \"'\" '\\'"),
    Attack("touch $'\\u202etxt.exe' $'\\u0000x' $'\\ufeff' $'e\\u0301' $'\\u00e9'"),
    Attack('perl -e \'for (1 .. 255) { next if $_ == 47; open F, ">", "n" . chr }\''),
    Attack("touch \"$(head -c 255 /dev/zero | tr '\\0' n)\""),
    Attack("touch .wh.file .wh..wh..opq .wh..wh.aufs; mkdir .wh.d; ls -a | grep -c wh", prints="4"),
    Attack("mkdir upper work root index; touch upper/x work/incompat"),
    Attack("touch 'NUL:' 'con' 'a:b' 'C:\\x' '%2e%2e%2f' '..\\..\\x' '...'"),
    Attack("perl -e 'for (1 .. 11000) { open F, \">$_\" }'", endings=FULL),
    Attack('perl -e \'for (1 .. 3000) { open F, ">" . ("\\xff" x 250) . $_ }\'', endings=FULL),
    Attack('perl -e \'for (1 .. 3000) { open F, ">" . ("\\x01" x 200) . $_ }\'', endings=FULL),
    Attack('perl -e \'for (1 .. 5000) { mkdir "d"; chdir "d" }\''),
    Attack(
        'perl -e \'for (1 .. 250) { mkdir "n" x 255; chdir "n" x 255 } for (1 .. 5000) { open F, ">$_" }\'',
        endings=FULL,
    ),
    Attack('perl -e \'for (1 .. 5000) { mkdir "d"; chmod 0, "d"; chdir "d" }\''),
    Attack("perl -e 'for $a (1 .. 100) { mkdir $a; for (1 .. 100) { mkdir \"$a/$_\" } }'", endings=FULL),
]

LINKS = [
    Attack("ln -s / root; ln -s /proc/1/root host; ln -s ../../../../../.. up; ln -s . here; ln -s here/here/here far"),
    Attack("ln -s a b; ln -s b a; ln -s c c"),
    Attack("rm file; ln -s /etc/shadow file"),
    Attack("rm -r full; ln -s /proc/1 full"),
    Attack("rm -r full; ln -s /run/bashboard full"),
    Attack("rm /bin; mkdir /bin; cp /usr/bin/ls /bin/; rm /lib; mkdir /lib; touch /lib/x", endings=("exited",)),
    Attack("rm -r /dev; ln -s /proc/self/fd /dev"),
    Attack("rm /dev/fd; mkdir /dev/fd; for i in 0 1 2 3 4 5 6 7; do : > /dev/fd/$i; done"),
    Attack("rm /dev/stdin; mkfifo /dev/stdin; rm /dev/stdout; ln -s /proc/kmsg /dev/stdout"),
    Attack("ln /etc/shadow here; ln /usr/bin/sudo s; chmod 4755 s; ls -l s >/dev/null", status=0),
    Attack("head -c 30m /dev/zero | tr '\\0' x > a; perl -e 'link \"a\", \"l$_\" for 1 .. 9000'", endings=FULL),
    Attack("perl -e 'symlink \"/\" x 4000, $_ for 1 .. 5000'", endings=FULL),
]

SPECIAL = [
    Attack("mkfifo a b c; (exec 3<>a; echo > a) & sleep 0.1"),
    Attack("perl -e 'use Socket; for (1 .. 500) { socket S,1,1,0; bind S, sockaddr_un(\"s$_\") }'"),
    Attack("rm file; mkfifo file; rm tool; mkfifo tool; rm -r full; mkfifo full"),
    Attack("mkfifo q{1..200}; exec 3<>q1; flock 3 true"),
    Attack("truncate -s 1T a; truncate -s 1E b; truncate -s 8191P c; printf x >> a", endings=("exited",)),
    Attack('perl -e \'open F, ">x"; for (1 .. 3000) { seek F, $_ * 300000, 0; print F "y" }\'', endings=FULL),
    Attack("perl -e 'for (1 .. 3000) { open F, \">s$_\"; truncate F, 60e6 }'"),
    Attack(
        "for i in {1..300}; do truncate -s 1G s$i; printf 'PK\\3\\4' | dd of=s$i conv=notrunc status=none; done",
        endings=FULL,
    ),
    Attack("chmod 0 file full tool; chmod 7777 empty; chown 4294967294:4294967294 built"),
    Attack("touch -d @-9223372036 a; touch -d @9223372036 b; touch -d @253402300800 c", observe=("mtime",)),
    Attack("exec 3<file; flock 3; sleep 99 & sleep 0.1"),
    Attack('perl -e \'fork and exit; while (1) { rename "file", "x"; symlink "/etc/shadow", "file"; unlink "file" }\''),
    Attack("(while :; do mkdir -p a/b/c; mv a z; rm -rf z; done) & sleep 0.3; exit 0", endings=("exited", "timeout")),
]

BOMBS = [
    Attack("head -c 400m /dev/zero | gzip > b.gz", endings=FULL),
    Attack("head -c 400m /dev/zero | gzip -1 | tee b1.gz b2.gz b3.gz b4.gz > b5.gz", endings=FULL),
    Attack("head -c 200m /dev/zero | xz -0 > b.xz", endings=FULL),
    Attack("head -c 200m /dev/zero | bzip2 > b.bz2", endings=FULL),
    Attack("head -c 60m /dev/zero | gzip -1 > a; for i in {1..200}; do cp a b$i; done", endings=FULL, within_s=WALL_S),
    Attack("gzip -c file > a; for i in {1..9}; do gzip -c a > b; mv b a; done"),
    Attack("tar cf a.tar full; for i in {1..2000}; do cp a.tar t$i; done", endings=FULL, within_s=WALL_S),
    Attack(
        "mkdir d; seq -f d/%g 4000 | xargs touch; tar czf a.tgz d; for i in {1..90}; do cp a.tgz $i; done",
        endings=FULL,
        within_s=WALL_S,
    ),
    Attack("tar cf - -P /etc/passwd --transform 's,^,../../../../tmp/,' > evil.tar; zip -q evil.zip ../../etc/passwd"),
    Attack("printf 'PK\\5\\6' > a.zip; head -c 18 /dev/zero >> a.zip; printf '\\x1f\\x8b' > b.gz; printf BZh9 > c"),
    Attack(
        'perl -e \'print "x\\0" . "\\0" x 98, "0000644\\0" x 3, "77777777777\\0", "0" x 12, " " x 8, "x", "\\0" x 100,'
        ' "ustar\\0", "00", "\\0" x 247\' > claim.tar; truncate -s 1T claim.tar'
    ),
    Attack("for i in {1..60}; do head -c 1m /dev/urandom > r; cat r r r r > f$i 2>&-; done; rm -f f*", endings=FULL),
]


@pytest.mark.parametrize("attack", NAMES, ids=str)
def test_names(hold: Hold, attack: Attack) -> None:
    """Names and depths of any kind are read, or marked as truncated."""
    hold(attack)


@pytest.mark.parametrize("attack", LINKS, ids=str)
def test_links(hold: Hold, attack: Attack) -> None:
    """The reader follows no link."""
    hold(attack)


@pytest.mark.parametrize("attack", SPECIAL, ids=str)
def test_special_files(hold: Hold, attack: Attack) -> None:
    """The reader does not wait for any file, and sizes are real and not claimed ones."""
    hold(attack)


@pytest.mark.parametrize("attack", BOMBS, ids=str)
def test_bombs(hold: Hold, attack: Attack) -> None:
    """Archives are unpacked up to a limit over all of them."""
    hold(attack)
