# SPDX-License-Identifier: Apache-2.0
# pellucid_sources(<out> <folder>): the .cpp files of a folder and of the folders in it that are no
# layers of their own.
function(pellucid_sources out folder)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  get_property(layers GLOBAL PROPERTY pellucid_layers)
  foreach(layer IN LISTS layers)
    list(FILTER found EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/${layer}/")
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# pellucid_web_sources(<out>): the .cpp files of src/web, and those of the native binary that it takes.
function(pellucid_web_sources out)
  pellucid_sources(found src/web)
  foreach(name IN ITEMS containers inflate json judge pyinstaller zip)
    list(APPEND found ${PROJECT_SOURCE_DIR}/src/cli/${name}.cpp)
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# pellucid_share_headers(<target>): has the headers of the standard library parsed once for all targets.
# For Emscripten, whose library takes most of a compile, and for the sanitizers; a build with ccache is
# faster without. Other builds are without as well: they find an include that is missing.
function(pellucid_share_headers target)
  if(NOT (EMSCRIPTEN OR PELLUCID_SANITIZE) OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  # What is linked into libraries too is compiled otherwise than what is in a program alone.
  get_target_property(type ${target} TYPE)
  get_property(first GLOBAL PROPERTY pellucid_first_${type})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY pellucid_first_${type} ${target})
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span> <sstream>
    <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)
endfunction()

# pellucid_layer(<folder> <layers it may know>...): the static library pellucid_<name> of src/<folder>,
# whose name has no slash. A layer within another stands before that one. A layer of headers alone gets
# an empty source file.
function(pellucid_layer folder)
  pellucid_sources(sources src/${folder})
  set_property(GLOBAL APPEND PROPERTY pellucid_layers ${folder})
  string(REPLACE "/" "_" name ${folder})
  string(REPLACE "/" "_" layers "${ARGN}")
  if(PELLUCID_PREBUILT)
    add_library(pellucid_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(pellucid_${name} PROPERTIES
      IMPORTED_LOCATION ${PELLUCID_PREBUILT}/libpellucid_${name}.a)
    foreach(known IN LISTS layers)
      target_link_libraries(pellucid_${name} INTERFACE pellucid_${known})
    endforeach()
    return()
  endif()
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/empty/${name}.cpp)
    if(NOT EXISTS ${sources})
      file(WRITE ${sources} "namespace pellucid::${name} {}\n")
    endif()
  endif()
  add_library(pellucid_${name} STATIC ${sources})
  target_link_libraries(pellucid_${name} PRIVATE pellucid_options)
  pellucid_share_headers(pellucid_${name})
  foreach(known IN LISTS layers)
    target_link_libraries(pellucid_${name} PUBLIC pellucid_${known})
  endforeach()
endfunction()
