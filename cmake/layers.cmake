# pellucid_sources(<out> <folder>): the .cpp files of a folder and of the folders in it.
function(pellucid_sources out folder)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# pellucid_layer(<name> <layers it may know>...): the static library pellucid_<name> of src/<name>.
# Sets pellucid_<name>_HAS_SOURCES; a layer of headers alone gets an empty source file.
function(pellucid_layer name)
  pellucid_sources(sources src/${name})
  if(sources)
    set(pellucid_${name}_HAS_SOURCES TRUE PARENT_SCOPE)
  else()
    set(sources ${PROJECT_BINARY_DIR}/empty/${name}.cpp)
    if(NOT EXISTS ${sources})
      file(WRITE ${sources} "namespace pellucid::${name} {}\n")
    endif()
  endif()
  add_library(pellucid_${name} STATIC ${sources})
  target_link_libraries(pellucid_${name} PRIVATE pellucid_options)
  foreach(known IN LISTS ARGN)
    target_link_libraries(pellucid_${name} PUBLIC pellucid_${known})
  endforeach()
endfunction()
