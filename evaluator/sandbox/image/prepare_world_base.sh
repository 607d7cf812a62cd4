#!/bin/sh
# Install PACKAGES in the image of a distribution, and write the list of all packages to /packages, as NAME=VERSION.
set -eu

if command -v apt-get >/dev/null; then
  if [ -n "$PACKAGES" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    # shellcheck disable=SC2086 # a list of names
    apt-get -qq install -y --no-install-recommends $PACKAGES >/dev/null
    apt-get clean
    rm -rf /var/lib/apt/lists/* /var/cache/ldconfig/aux-cache /var/cache/debconf/*-old /var/lib/dpkg/*-old
  fi
  dpkg-query -W -f '${binary:Package}=${Version}\n' >/packages
elif command -v apk >/dev/null; then
  # shellcheck disable=SC2086
  [ -z "$PACKAGES" ] || apk add --quiet --no-cache $PACKAGES
  apk info -v | sed -E 's/-([0-9][^-]*-r[0-9]+)$/=\1/' >/packages
elif command -v dnf >/dev/null; then
  # shellcheck disable=SC2086
  [ -z "$PACKAGES" ] || dnf install --quiet --assumeyes --setopt=install_weak_deps=False $PACKAGES
  dnf clean all >/dev/null
  rpm -qa --qf '%{NAME}=%{VERSION}-%{RELEASE}\n' >/packages
else
  echo 'the image has none of apt-get, apk and dnf' >&2
  exit 1
fi
[ -x /bin/bash ] || { echo 'the image has no /bin/bash: add the package bash to the base' >&2; exit 1; }
LC_ALL=C sort -o /packages /packages
rm -rf /var/log/* /tmp/* /run/* /etc/.pwd.lock
