#!/bin/bash -eu
# Run by ClusterFuzzLite in the image of the Dockerfile beside it. The compiler and the sanitizer come
# from $CXX and $CXXFLAGS, the engine from $LIB_FUZZING_ENGINE.
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DPELLUCID_BUILD_FUZZ=ON -DPELLUCID_BUILD_TESTS=OFF -DPELLUCID_BUILD_CLI=OFF \
  -DPELLUCID_CHECKS=ON -DPELLUCID_FUZZ_ENGINE="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}"
cmake --build "$WORK/build"

# Without other interpreters the seeds are the small compiled cases of every version.
python3 tools/seeds.py "$WORK/seeds"
(cd "$WORK/seeds" && zip -q -r "$WORK/seeds.zip" .)
for target in "$WORK"/build/fuzz_*; do
  [ -f "$target" ] && [ -x "$target" ] || continue
  name=$(basename "$target")
  cp "$target" "$OUT/"
  cp fuzz/pyc.dict "$OUT/$name.dict"
  cp "$WORK/seeds.zip" "$OUT/${name}_seed_corpus.zip"
done
