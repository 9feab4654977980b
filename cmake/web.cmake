# SPDX-License-Identifier: Apache-2.0
# pellucid.wasm: the library and the archives of the native binary, with an interface of C
# (src/web/exports.h); and the npm package of it in npm/, whose core.mjs Emscripten makes.
#
#   emcmake cmake --preset web && cmake --build --preset web

if(NOT EMSCRIPTEN)
  message(FATAL_ERROR "PELLUCID_BUILD_WEB needs Emscripten: emcmake cmake --preset web")
endif()

pellucid_web_sources(web_sources)
add_executable(pellucid_web ${web_sources})
target_compile_definitions(pellucid_web PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")
target_link_libraries(pellucid_web PRIVATE pellucid_archive pellucid_options)

set(exports _malloc _free)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/web/exports.h declared REGEX "^[a-z].* \\**pellucid_.*\\(")
foreach(line IN LISTS declared)
  string(REGEX MATCH "pellucid_[a-z_]+" name "${line}")
  list(APPEND exports _${name})
endforeach()
list(JOIN exports "," exports)
set_target_properties(pellucid_web PROPERTIES OUTPUT_NAME pellucid SUFFIX .mjs)
target_link_options(pellucid_web PRIVATE
  # pellucid.mjs hands the module over, so that core.mjs reads no file: Node needs nothing of its own
  # there, and what Emscripten would write for it, bundlers for browsers cannot resolve.
  -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker -sFILESYSTEM=0 -sDYNAMIC_EXECUTION=0
  -sINCOMING_MODULE_JS_API=instantiateWasm,print,printErr -sEXPORTED_RUNTIME_METHODS=HEAPU8
  -sEXPORTED_FUNCTIONS=${exports}
  # As much as an input needs, up to what 32 bits can address; a call that needs more fails.
  -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sINITIAL_MEMORY=32MB
  # As much stack as a thread has on Linux.
  -sSTACK_SIZE=8MB
  # The last level given counts. From -O2 on, wasm-opt makes the module a fifth smaller, which takes as
  # long as half of the compiler's work.
  $<$<BOOL:${PELLUCID_WEB_QUICK}>:-O1>)

# The package, complete: `npm pack` or a page can take it as it is.
set(package ${PROJECT_BINARY_DIR}/npm)
set(npm ${PROJECT_SOURCE_DIR}/web/npm)
configure_file(${npm}/package.json.in ${package}/package.json @ONLY)
set(package_files ${PROJECT_SOURCE_DIR}/LICENSE ${npm}/README.md ${npm}/pellucid.mjs
  ${npm}/pellucid.d.ts)
add_custom_command(OUTPUT ${package}/core.mjs
  COMMAND ${CMAKE_COMMAND} -E copy ${package_files} ${PROJECT_BINARY_DIR}/pellucid.wasm ${package}
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:pellucid_web> ${package}/core.mjs
  DEPENDS pellucid_web ${package_files} VERBATIM)
add_custom_target(pellucid_npm ALL DEPENDS ${package}/core.mjs)
