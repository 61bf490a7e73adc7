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
	local suite=$1 tar=$cache/debian-$1.tar work steps=/usr/share/debootstrap/scripts/$1
	[ -z "$(find "$tar" -mtime -30 2>/dev/null)" ] || return 0
	command -v debootstrap >/dev/null || die "debootstrap is missing: run script/bootstrap"
	# An older debootstrap does not know the names of later suites. It installs them like sid.
	[ -e "$steps" ] || steps=${steps%/*}/sid
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/debootstrap.XXXXXX")
	echo "debootstrap $suite from $mirror (cached in $tar)"
	debootstrap --variant=minbase "$suite" "$work" "$mirror" "$steps" >"$cache/debootstrap-$suite.log" 2>&1 || {
		tail -n 5 "$cache/debootstrap-$suite.log" >&2
		rm -rf "$work"
		die "debootstrap $suite failed; its log is $cache/debootstrap-$suite.log"
	}
	debian_sources "$suite" >"$work/etc/apt/sources.list"
	# A host that uses a snapshot of Debian has turned this check off.
	apt-config dump Acquire::Check-Valid-Until >"$work/etc/apt/apt.conf.d/90valid-until" || true
	rm -rf "$work"/var/cache/apt/archives/*.deb "$work"/var/lib/apt/lists/*
	chmod 755 "$work"
	tar -C "$work" --numeric-owner -cf "$tar.part" . && mv "$tar.part" "$tar"
	rm -rf "$work"
}

# lock FILE: waits until no other script holds FILE. The script holds it until it ends.
lock() {
	mkdir -p "$(dirname "$1")"
	exec 9>"$1"
	flock -n 9 || { echo "${0##*/}: waiting for another process that uses $1"; flock 9; }
}

# unpack_base SUITE ROOT: makes the folder ROOT a fresh minimal Debian.
unpack_base() {
	debian_base "$1"
	rm -rf "$2" "$2.part"
	mkdir -p "$2.part"
	tar -C "$2.part" -xf "$cache/debian-$1.tar"
	mv "$2.part" "$2"
}

# in_root [--overlay FOLDER] [--no-network] ROOT COMMAND [ARGUMENT...]: runs COMMAND as root of the system in the folder ROOT. With
# --overlay, what COMMAND changes is in FOLDER/upper, and ROOT stays as it is. With --no-network, COMMAND has only loopback. The mounts
# are in a separate mount namespace. All processes end with this script, even by kill -9.
in_root() {
	local over='' network=() inside status=0
	[ "$1" != --overlay ] || { over=$2; mkdir -p "$2"/{upper,work,root}; shift 2; }
	[ "$1" != --no-network ] || { network=(--net); shift; }
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL unshare "${network[@]}" --mount --propagation private --pid --fork --kill-child=KILL bash -euc '
		over=$1 network=$2 root=$3
		shift 3
		[ -z "$network" ] || ip link set lo up
		if [ -n "$over" ]; then
			mount -t overlay -o "lowerdir=$root,upperdir=$over/upper,workdir=$over/work" overlay "$over/root"
			root=$over/root
		else
			# unshare --mount in the chroot needs / to be a mount point.
			mount --bind "$root" "$root"
		fi
		mount -t proc proc "$root/proc"
		mount -t sysfs sysfs "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/run"
		mount -t tmpfs tmpfs "$root/tmp"
		cp -L /etc/resolv.conf "$root/etc/resolv.conf"
		cd "$root"
		exec chroot . /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "$@"' in_root "$over" "${network[*]}" "$@" 9>&- &
	inside=$!
	# shellcheck disable=SC2064
	trap "kill -KILL $inside 2>/dev/null; exit 130" INT TERM HUP
	wait $inside || status=$?
	trap - INT TERM HUP
	return $status
}

# hardened FILE: fails unless the linker's and the compiler's protections are in this program, and no debug information.
hardened() {
	local name=${1##*/} has
	has=$(readelf -hldW --dyn-syms "$1")
	for want in 'DYN (Position-Independent Executable' GNU_RELRO BIND_NOW\\\|'Flags:.* NOW' __stack_chk_fail '__[a-z]*_chk\>'; do
		grep -q "$want" <<<"$has" || die "$name is not hardened: readelf shows no $want"
	done
	! readelf -SW "$1" | grep '\.debug_' >/dev/null || die "$name has debug information"
}
