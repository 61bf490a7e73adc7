# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Virtual machines of script/kernel and script/nics. Source it after lib.sh.

machine_kernel="root=/dev/vda rw console=ttyS0 panic=-1 systemd.firstboot=off systemd.run=/command systemd.run_success_action=poweroff systemd.run_failure_action=poweroff ${boot_option-}"
# Without AVX: with it, qemu 7.2 damages packets that the director hashes with AVX2, and connections break.
machine_cpu=(-accel "tcg,thread=multi" -cpu "${cpu_model-max,-avx,-avx2}")
! grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo || [ ! -w /dev/kvm ] || machine_cpu=(-accel kvm -cpu "${cpu_model-host}")

# machine_open NAME FOLDER: makes a folder for the files of the virtual machine NAME in FOLDER: $work. The script removes it when it ends,
# and stops the machine. $log is where all output goes.
machine_open() {
	mkdir -p "$2"
	log=$cache/$1.log
	work=$(mktemp -d "$2/machine.XXXXXX")
	qemu=
	trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true; rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	# Names of files are relative to $work.
	# shellcheck disable=SC2054
	machine_options=(-display none -nodefaults -no-reboot -kernel vmlinuz -initrd initrd -append "$machine_kernel" -serial "file:$log"
		-drive file=disk,format=raw,if=virtio,cache=unsafe
		-device virtio-serial -chardev stdio,id=out,signal=off -device virtconsole,chardev=out)
}

# machine_disk ROOT KERNEL COMMAND [ARGUMENT...]: makes $work/disk from the folder ROOT, which script/kernel-install has prepared for
# KERNEL. It runs COMMAND in /src.
machine_disk() {
	local root=$1 version held
	exec {held}>"$root.lock"
	flock "$held"
	version=$(<"$root/boot/glb-$2")
	shift 2
	{
		printf '%s\n' '#!/bin/bash' 'stty raw -F /dev/hvc0' 'exec </dev/null >/dev/hvc0 2>&1' \
			'systemctl start basic.target' 'cd /src' \
			'export GLB_DISPOSABLE=yes HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
		printf '%q ' "$@"
		printf '\n%s\n' 'echo $? >/status'
	} >"$root/command"
	chmod 755 "$root/command"
	cp "$root/boot/vmlinuz-$version" "$work/vmlinuz"
	cp "$root/boot/initrd.img-$version" "$work/initrd"
	truncate -s 8G "$work/disk"
	mke2fs -q -t ext4 -O ^has_journal -d "$root" "$work/disk"
	exec {held}>&-
}

# machine_wait: waits for the process $qemu, and exits with the exit code of the command. $work/qemu may have the messages of qemu.
machine_wait() {
	local status
	wait "$qemu" || { cat "$work/qemu" >&2 2>/dev/null; die "qemu failed"; }
	qemu=
	status=$(debugfs -R 'cat /status' "$work/disk" 2>/dev/null)
	[ -n "$status" ] || { tail -n 30 "$log" >&2; die "the virtual machine stopped before the command ended: see its console in $log"; }
	exit "$status"
}
