"""This module holds the shell functions with which the generated set-up of a task creates objects in the task's world.

No function replaces an existing object. The array `made` lists the new objects in the current folder. The functions
start few programs, because a set-up runs for every task in every variant. `$CLOCK` is the world's time in seconds.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = """#!/bin/bash
# shellcheck disable=all
made=()
into() { case $1 in */*) [ -d "${1%/*}" ] || mkdir -p -- "${1%/*}" 2>/dev/null ;; esac; }
free() { [ ! -e "$1" ] && [ ! -L "$1" ] && into "$1"; }
put() { free "$1" && printf %s "$2" 2>/dev/null > "$1" && made+=("$1"); }
folder() { free "$1" && mkdir -- "$1" && made+=("$1"); }
link() { free "$2" && ln -s -- "$1" "$2" && made+=("$2"); }
sized() { free "$1" && truncate -s "$2" -- "$1" && made+=("$1"); }
filled() { free "$1" && printf '%s' "$text" > "$1" && { [ -z "$2" ] || truncate -s "$2" -- "$1"; }; }
aged() { filled "$1" "$3" && dated "$2" "$1"; }
moded() { filled "$1" "$4" && chmod "$2" -- "$1" && dated "$3" "$1"; }
owned() { put "$1" "$text" && chown 65534:65534 -- "$1"; }
target() { [ ! -e "$1" ] && [ -d "${1%/*}" ] && echo 'was there before' > "$1" && dated 5400 "$1"; }
dated() { touch -h -d "@$(( CLOCK - $1 ))" -- "${@:2}"; }
bulky() { free "$1" && head -c "$2" /dev/zero > "$1" && made+=("$1"); }
spread() {
  [ -n "$spread" ] && for i in "${!made[@]}"; do dated $(( 5400 + i * 7 % 11 * spread )) "${made[i]}"; done
  spread=
}
packed() {
  for one in "${made[@]}"; do
    [ -f "$one" ] && [ ! -L "$one" ] || continue
    case $one in
      *.tar.gz | *.tgz) tar -czf pack.tmp -- "$one" ;;
      *.tar) tar -cf pack.tmp -- "$one" ;;
      *.gz) gzip -nc -- "$one" > pack.tmp ;;
      *) continue ;;
    esac && cat pack.tmp > "$one"
    rm -f pack.tmp
  done
}
paths() { [ -f "$1" ] && grep -q '^/' -- "$1" && add "$1" $'/etc/hostname\\n/etc/shells\\n'; }
join() { [ -f "$1" ] && [ -f "$2" ] && [ ! "$1" -ef "$2" ] && add "$2" "$(cat -- "$1")"$'\\n'; }
all() { [ ${#made[@]} -gt 0 ] && "$@" "${made[@]}"; }
add() { [ -f "$1" ] && [ ! -L "$1" ] && t=$(stat -c %Y -- "$1") && printf %s "$2" >> "$1" && touch -d "@$t" -- "$1"; }
"""
