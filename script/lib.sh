# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Functions for the scripts in this folder. Source it first, because it changes to the top of the tree.
self=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Debian base systems, chroots and image layers. May be deleted at any time.
# shellcheck disable=SC2034
cache=${XDG_CACHE_HOME:-$HOME/.cache}/glb-director

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Prints the comment at the top of the calling script, for --help.
usage() {
	awk '/^#!|^# SPDX/ { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$self"
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "'$1' needs root and there is no sudo: run this script as root"
	fi
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "needs root ($1): run it as root"
}

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

# debian_sources SUITE: prints a sources.list with security updates.
debian_sources() {
	cat <<-LIST
		deb $mirror $1 main
		deb $mirror $1-updates main
		deb ${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security} $1-security main
	LIST
}

# debian_base SUITE: makes $cache/debian-SUITE.tar, a minimal Debian with security updates, unless it is less than a month old.
debian_base() {
	local suite=$1 tar=$cache/debian-$1.tar work
	[ -z "$(find "$tar" -mtime -30 2>/dev/null)" ] || return 0
	command -v debootstrap >/dev/null || die "debootstrap is missing: run script/bootstrap"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/debootstrap.XXXXXX")
	echo "debootstrap $suite from $mirror (cached in $tar)"
	debootstrap --variant=minbase "$suite" "$work" "$mirror" >"$cache/debootstrap-$suite.log" 2>&1 || {
		tail -n 5 "$cache/debootstrap-$suite.log" >&2
		rm -rf "$work"
		die "debootstrap $suite failed; its log is $cache/debootstrap-$suite.log"
	}
	debian_sources "$suite" >"$work/etc/apt/sources.list"
	rm -rf "$work"/var/cache/apt/archives/*.deb "$work"/var/lib/apt/lists/*
	chmod 755 "$work"
	tar -C "$work" --numeric-owner -cf "$tar.part" . && mv "$tar.part" "$tar"
	rm -rf "$work"
}
