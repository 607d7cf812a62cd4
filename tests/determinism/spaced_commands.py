"""Eighty-nine commands whose output could differ between runs, and the known causes of differences.

The test counts kinds of differences. All commands with the same cause are one kind, such as two commands that print the
same value of the kernel. A command without a cause in `CAUSES` is a kind of its own if its output differs.
"""

from __future__ import annotations

from typing import Final

CLOCK: Final = {
    "date": "date '+%F %T.%N %Z'",
    "seconds since the epoch": "echo $EPOCHSECONDS; printf '%(%s)T\\n' -1",
    "microseconds of the shell": "echo $EPOCHREALTIME",
    "seconds of the shell": "echo $SECONDS; sleep 1; echo $SECONDS",
    "time passing": "date +%s; sleep 1; date +%s",
    "date of gawk": "gawk 'BEGIN { print systime(), strftime() }'",
    "date of perl": "perl -e 'print time, \" \", scalar localtime'",
    "date of jq": "jq -n 'now | todate'",
    "uptime": "uptime; uptime -s; cat /proc/uptime",
    "who is here": "who -a; w; last 2>&1",
    "stopwatch of a sleep": "time sleep 0.3",
    "stopwatch of work": "time (for number in {1..20000}; do :; done)",
    "times of the shell": "for number in {1..20000}; do :; done; times",
    "cut off": "timeout 1 sleep 5; echo $?",
    "reading in vain": "read -t 1 line < <(sleep 2); echo $?",
    "hardware clock": "hwclock 2>&1; cat /sys/class/rtc/rtc0/time 2>&1",
}
CHANCE: Final = {
    "random number of the shell": "echo $RANDOM $RANDOM; (echo $RANDOM)",
    "strong random number of the shell": "echo $SRANDOM",
    "shuffled lines": "shuf -e one two three four five six seven",
    "shuffled numbers": "shuf -n 5 -i 1-100000",
    "sorted at random": "sort -R /etc/group",
    "random bytes": "head -c 12 /dev/urandom | od -An -tx1; head -c 4 /dev/random | xxd",
    "identifier": "cat /proc/sys/kernel/random/uuid",
    "boot identifier": "cat /proc/sys/kernel/random/boot_id; cat /etc/machine-id 2>&1",
    "name of a new file": "mktemp",
    "name of a new folder": "mktemp -d -p /var/tmp work.XXXXXX",
    "name that nobody has": "mktemp -u /tmp/none.XXXXXXXX",
    "random numbers of awk": "gawk 'BEGIN { srand(); print rand(), rand() }'; awk 'BEGIN { print rand() }'",
    "random numbers of perl": "perl -e 'print rand'",
    "order of a hash of perl": 'perl -e \'my %h = map { $_ => 1 } "a" .. "p"; print keys %h\'',
    "order of an array of bash": "declare -A a; for k in {a..p}; do a[$k]=1; done; echo ${!a[@]}",
    "order of an object of jq": "jq -n '[range(9)] | map({(tostring): .}) | add | keys_unsorted'",
    "addresses": "cat /proc/self/maps | cut -d' ' -f1; perl -e 'print \\my $x'",
    "password": 'echo secret | openssl passwd -6 -stdin 2>&1; perl -e \'print crypt("x", "ab")\'',
    "overwritten with chance": "shred -n 1 file; cat file | wc -c",
}
PROCESSES: Final = {
    "own number": "echo $$ $BASHPID $PPID",
    "number of a job": "sleep 3 & echo $!; jobs -l; kill %1",
    "all processes": "ps -ef",
    "all processes with their memory": "ps aux --sort=pid",
    "when processes began": "ps -eo pid,lstart,etime,cmd",
    "tree of processes": "pstree -ap",
    "summary of top": "top -b -n 1 | head -5",
    "status of a process": "cat /proc/self/status",
    "statistics of a process": "cat /proc/self/stat",
    "limits": "ulimit -a; cat /proc/self/limits",
    "groups of control": "cat /proc/self/cgroup",
    "namespaces": "ls -l /proc/self/ns",
    "open files": "ls -l /proc/self/fd | awk '{ print $NF }'",
    "pipes": "readlink /proc/self/fd/0 /proc/self/fd/1 < <(:) | cat",
    "found by name": "sleep 2 & pgrep -a sleep; pidof sleep; kill $!",
    "parallel echoes": "for n in 1 2 3 4 5 6 7 8; do echo $n & done; wait",
    "parallel arguments": "seq 40 | xargs -P8 -n1 echo",
    "parallel appends": "for n in {1..8}; do (echo $n >> out) & done; wait; cat out",
    "pipeline that breaks": "yes | head -n 3; echo ${PIPESTATUS[@]}",
    "left behind": "(trap '' HUP; sleep 30) & disown; jobs",
}
MACHINE: Final = {
    "kernel": "uname -a",
    "name of the machine": "hostname; cat /etc/hostname 2>&1",
    "processors": "nproc; grep -c ^processor /proc/cpuinfo",
    "description of processors": "lscpu 2>&1",
    "memory": "free -k",
    "details of memory": "cat /proc/meminfo",
    "virtual memory": "vmstat -s; vmstat 2>&1",
    "load": "cat /proc/loadavg",
    "counters of the kernel": "head -5 /proc/stat; cat /proc/interrupts 2>&1 | head -3",
    "configuration": "getconf -a",
    "environment": "env | sort; export -p",
    "variables of the shell": "set",
    "who I am": "id; whoami; groups; logname 2>&1",
    "network": "cat /proc/net/dev; cat /etc/resolv.conf 2>&1; getent hosts localhost",
    "mounts": "mount; cat /proc/mounts",
    "numbers of mounts": "cat /proc/self/mountinfo",
    "room on disks": "df -k 2>&1",
    "entries on disks": "df -i / /tmp 2>&1",
    "file system": "stat -f /",
    "missing program": "git status; python3 -V; echo $?",
}
FILES: Final = {
    "long list": "touch new; ls -la",
    "list by numbers": "ls -i / /etc | head -40",
    "unsorted list": "ls -U /usr/bin; find /usr/share -maxdepth 2",
    "times of a new file": "touch new; stat -c '%n %x %y %z %w' new",
    "all of a file": "stat file",
    "newer files": "touch new; find / -xdev -newer file -type f",
    "sizes": "du -a /srv; du -sk /usr/bin",
    "packed by tar": "tar -czf full.tar.gz full; sha256sum full.tar.gz",
    "packed by gzip": "gzip -k file; od -An -tx1 file.gz | head -2",
    "packed by zip": "zip -qr full.zip full; sha256sum full.zip; unzip -l full.zip",
    "packed by zstd and xz": "zstd -q file; xz -k file; sha256sum file.zst file.xz",
    "packed by cpio": "find full | cpio -o --quiet | sha256sum",
    "copied with times": "rsync -a --stats full/ copy/ | grep -v speedup",
    "compared with its time": "diff -u file full/one",
}
COMMANDS: Final = {**CLOCK, **CHANCE, **PROCESSES, **MACHINE, **FILES}

CAUSES: Final = {
    "numbers of mounts": "numbers of mounts",
    "namespaces": "numbers of namespaces",
    "open files": "numbers of pipes",
    "pipes": "numbers of pipes",
    "parallel echoes": "the order of what runs side by side",
    "parallel arguments": "the order of what runs side by side",
    "parallel appends": "the order of what runs side by side",
    "all processes with their memory": "memory in use at a moment",
    "configuration": "memory free on the machine",
    "status of a process": "which processor a worker has, and how often it was interrupted",
    "statistics of a process": "faults of pages and times of processors",
    "stopwatch of a sleep": "time on the processor",
    "stopwatch of work": "time on the processor",
    "times of the shell": "time on the processor",
}
"""The cause of a difference, by the name of the command.

The kernel assigns the printed values by chance, for the whole machine or for the moment. The sandbox cannot fix them.
"""
