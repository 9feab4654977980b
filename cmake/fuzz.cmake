# SPDX-License-Identifier: Apache-2.0
# One fuzzer for each fuzz/<name>.cpp: libFuzzer with clang, a small mutator of our own without.
# PELLUCID_FUZZ_ENGINE is what links another engine, as OSS-Fuzz gives it in $LIB_FUZZING_ENGINE.

set(PELLUCID_FUZZ_ENGINE "-fsanitize=fuzzer" CACHE STRING "What links the fuzzing engine, with clang")
separate_arguments(fuzz_engine UNIX_COMMAND "${PELLUCID_FUZZ_ENGINE}")
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_libraries(fuzz_${name} PRIVATE ${fuzz_engine})
  else()
    target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/standalone/main.cpp)
  endif()
  target_link_libraries(fuzz_${name} PRIVATE pellucid_archive pellucid_options)
endforeach()
