#!/bin/bash -eu
# The sanitizer comes from $CFLAGS and $CXXFLAGS; the engine is libFuzzer, which clang links by itself.
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DPELLUCID_BUILD_FUZZ=ON -DPELLUCID_BUILD_TESTS=OFF -DPELLUCID_BUILD_CLI=OFF \
  -DPELLUCID_CHECKS=ON
cmake --build "$WORK/build"

# Without other interpreters the seeds are the small compiled cases of every version.
python3 tools/seeds.py "$WORK/seeds"
for target in "$WORK"/build/fuzz_*; do
  [ -f "$target" ] && [ -x "$target" ] || continue
  name=$(basename "$target")
  cp "$target" "$OUT/"
  cp fuzz/pyc.dict "$OUT/$name.dict"
  (cd "$WORK/seeds" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
done
