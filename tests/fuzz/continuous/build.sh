#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Usage: OUT=FOLDER tests/fuzz/continuous/build.sh
#
# Builds the fuzzers for a service that fuzzes all the time, as OSS-Fuzz and ClusterFuzzLite call it: into OUT, each with its seeds as
# fuzz_NAME_seed_corpus.zip, its dictionary, and the shared libraries that it needs, because the machines that run it have none of them.
# CC, CFLAGS and LIB_FUZZING_ENGINE are those of the service; without them, clang, AddressSanitizer and libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${OUT:?set it to the folder for the fuzzers}"
export CC=${CC:-clang} CFLAGS=${CFLAGS--fsanitize=address,fuzzer-no-link -O1 -g}
work=${WORK:-$PWD}/build-continuous

rm -rf "$work"
# shellcheck disable=SC2016
LDFLAGS='-Wl,-rpath,$ORIGIN/lib' meson setup "$work" -Dfuzz=true -Dfuzz_coverage=false -Db_lundef=false -Doptimization=1 -Dtests=false \
	-Dfuzz_engine="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}"
mkdir -p "$OUT/lib"
targets=()
for file in tests/fuzz/fuzz_*.c; do
	name=${file##*/}
	targets+=("tests/fuzz/${name%.c}")
done
ninja -C "$work" tests/fuzz/seeds "${targets[@]}"
for target in "${targets[@]}"; do
	name=${target##*/}
	cp "$work/$target" "$OUT/"
	[ ! -d "$work/tests/fuzz/seeds/${name#fuzz_}" ] ||
		/usr/bin/python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$work/tests/fuzz/seeds/${name#fuzz_}"/*
	[ ! -e "tests/fuzz/${name#fuzz_}.dict" ] || cp "tests/fuzz/${name#fuzz_}.dict" "$OUT/$name.dict"
	ldd "$work/$target" | awk '$2 == "=>" && $3 ~ "^/" && $1 !~ "^(libc|libm|libpthread|libdl|librt|ld-linux.*)\\.so" { print $3 }' | xargs -r cp -Lt "$OUT/lib"
done
