# One fuzzer for each fuzz/<name>.cpp: libFuzzer with clang, a small mutator of our own without.

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/standalone/main.cpp)
  endif()
  if(name STREQUAL "containers")
    target_sources(fuzz_${name} PRIVATE
      ${PROJECT_SOURCE_DIR}/src/cli/containers.cpp ${PROJECT_SOURCE_DIR}/src/cli/inflate.cpp
      ${PROJECT_SOURCE_DIR}/src/cli/pyinstaller.cpp ${PROJECT_SOURCE_DIR}/src/cli/zip.cpp)
  endif()
  target_link_libraries(fuzz_${name} PRIVATE pellucid_driver pellucid_options)
endforeach()
