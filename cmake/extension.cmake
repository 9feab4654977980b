# SPDX-License-Identifier: Apache-2.0
# pellucid._core: the thin Python boundary.

# A wheel for several Pythons (tools/wheels.py) is built against the stable ABI.
find_package(Python 3.8 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
if(SKBUILD_SABI_VERSION)
  set(stable_abi STABLE_ABI)
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

pellucid_sources(extension_sources src/python)
nanobind_add_module(_core ${stable_abi} NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${extension_sources})
target_compile_definitions(_core PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")
target_link_libraries(_core PRIVATE pellucid_archive pellucid_options)
install(TARGETS _core LIBRARY DESTINATION pellucid)

# At the start of Python they ask for one variable (pellucid/_autodump.py). Where wheels are unpacked,
# beside the package, is what Python reads such files from: pellucid.pth until 3.14, and from 3.15 on
# pellucid.start (PEP 829), which can name a function only, and so needs a module of its own.
install(FILES cmake/pellucid.pth cmake/pellucid.start cmake/_pellucid_start.py DESTINATION .)

# The manual page, and what shells read on their own: bash-completion, zsh's fpath, fish.
if(SKBUILD_DATA_DIR)
  set(shell python/pellucid/shell)
  install(FILES ${shell}/pellucid.1 DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1)
  install(FILES ${shell}/pellucid.bash RENAME pellucid
    DESTINATION ${SKBUILD_DATA_DIR}/share/bash-completion/completions)
  install(FILES ${shell}/_pellucid DESTINATION ${SKBUILD_DATA_DIR}/share/zsh/site-functions)
  install(FILES ${shell}/pellucid.fish
    DESTINATION ${SKBUILD_DATA_DIR}/share/fish/vendor_completions.d)
endif()
