# SPDX-License-Identifier: Apache-2.0
# pellucid_options: the language level, the warnings and the sanitizers of every target of ours.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(PELLUCID_CCACHE ccache)
if(PELLUCID_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PELLUCID_CCACHE})
endif()

# A layer is compiled as one file, in a third of the time. The preset `dev` compiles file by file,
# which is faster after a change; `make lint` compiles each header alone.
option(CMAKE_UNITY_BUILD "Compile each layer as one file" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
set(CMAKE_UNITY_BUILD_UNIQUE_ID PELLUCID_UNITY_ID)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# -O3 makes the build longer and nothing faster that was measured.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
if(NOT EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)

add_library(pellucid_options INTERFACE)
target_compile_features(pellucid_options INTERFACE cxx_std_20)
target_include_directories(pellucid_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(pellucid_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wundef
  # A missing case or a missing return is wrong on every machine, not only on ours.
  -Werror=switch -Werror=return-type
  $<$<BOOL:${PELLUCID_WERROR}>:-Werror>
  # GCC lets a file grow by 40 % when it inlines, and one that is a whole layer would be 6 % slower.
  $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=200>
  # GCC reports false positives here when it inlines std::optional and std::variant.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # In libstdc++ 12, std::stable_sort calls a function that the library itself deprecates, and
  # Clang blames the caller.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)

if(PELLUCID_CHECKS)
  # The standard library checks indices, empty containers and optionals as well.
  target_compile_definitions(pellucid_options INTERFACE PELLUCID_CHECKS=1 _GLIBCXX_ASSERTIONS=1)
endif()

if(PELLUCID_SANITIZE)
  # Global: an object file without instrumentation hides bugs of those that have it.
  # Four checks are left out, for a quarter of the compile time and half of the object files: a null
  # pointer stops the address sanitizer too, only pointers to bytes are cast, no class is
  # polymorphic, and sizes of objects are not known without optimization.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

if(PELLUCID_BUILD_FUZZ AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Global as well: libFuzzer is guided by the branches of what it calls, which are the layers'.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(EMSCRIPTEN)
  # Global: the linker takes the libraries that fit. Exceptions of WebAssembly itself, in the form
  # that every browser and node since 2021 has, cost nothing until one is thrown.
  add_compile_options(-fwasm-exceptions)
  add_link_options(-fwasm-exceptions)
endif()

# PELLUCID_RUNTIME: what links a program with the libraries in it that it needs: those of C++ and C,
# or at least those of C++, where they are installed as archives. It starts in a fraction of the time,
# and takes 1.5 MiB less. (In glibc's archives before 2.34, threads do not run.)
set(PELLUCID_RUNTIME "")
if(PELLUCID_BUILD_CLI AND UNIX AND NOT APPLE AND NOT EMSCRIPTEN AND NOT PELLUCID_SANITIZE)
  include(CheckCXXSourceCompiles)
  include(CheckCXXSourceRuns)
  include(CMakePushCheckState)
  set(program "#include <thread>\nint main() { std::thread([] {}).join(); }")
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_QUIET ON)
  if(NOT CMAKE_CROSSCOMPILING)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
    set(CMAKE_REQUIRED_FLAGS -fPIE)
    check_cxx_source_runs("${program}" pellucid_has_all_archives)
  endif()
  if(NOT pellucid_has_all_archives)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
    check_cxx_source_compiles("${program}" pellucid_has_archives)
  endif()
  if(pellucid_has_all_archives OR pellucid_has_archives)
    set(PELLUCID_RUNTIME ${CMAKE_REQUIRED_LINK_OPTIONS} -Wl,--gc-sections)
  endif()
  cmake_pop_check_state()
endif()
