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
  foreach(name IN ITEMS json judge)
    list(APPEND found ${PROJECT_SOURCE_DIR}/src/cli/${name}.cpp)
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
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
  foreach(known IN LISTS layers)
    target_link_libraries(pellucid_${name} PUBLIC pellucid_${known})
  endforeach()
endfunction()
