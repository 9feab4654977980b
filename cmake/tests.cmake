# SPDX-License-Identifier: Apache-2.0
# pellucid_tests holds tests/unit/<layer>/*.cpp of every layer. For work on one layer there is also
# pellucid_test_<layer>, which builds only the tests of that layer and what it knows.

set(unit_dir ${PROJECT_SOURCE_DIR}/tests/unit)
set(test_main ${unit_dir}/main.cpp)
set(layers_with_tests base object bytecode flow ir ast structure polish print verify driver)
file(GLOB test_sources CONFIGURE_DEPENDS ${unit_dir}/cli/*.cpp)
foreach(layer IN LISTS layers_with_tests)
  file(GLOB tests_of_${layer} CONFIGURE_DEPENDS ${unit_dir}/${layer}/*.cpp)
  list(APPEND test_sources ${tests_of_${layer}})
endforeach()

# What the WebAssembly module is made of, compiled for this machine.
pellucid_web_sources(web_sources)
add_library(pellucid_web_core STATIC ${web_sources})
target_compile_definitions(pellucid_web_core PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")
target_link_libraries(pellucid_web_core PRIVATE pellucid_options PUBLIC pellucid_library)
pellucid_share_headers(pellucid_web_core)
file(GLOB tests_of_web CONFIGURE_DEPENDS ${unit_dir}/web/*.cpp)

add_executable(pellucid_tests ${test_main} ${test_sources} ${tests_of_web})
if(UNIX AND NOT PELLUCID_SANITIZE)
  target_sources(pellucid_tests PRIVATE ${PROJECT_SOURCE_DIR}/src/cli/memory.cpp)
endif()
target_include_directories(pellucid_tests PRIVATE ${unit_dir})
target_compile_definitions(pellucid_tests PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
find_package(Threads REQUIRED)
target_link_libraries(pellucid_tests PRIVATE pellucid_web_core pellucid_options Threads::Threads)
pellucid_share_headers(pellucid_tests)
add_test(NAME pellucid_tests COMMAND pellucid_tests)

foreach(layer IN LISTS layers_with_tests)
  if(tests_of_${layer})
    add_executable(pellucid_test_${layer} EXCLUDE_FROM_ALL ${test_main} ${tests_of_${layer}})
    target_include_directories(pellucid_test_${layer} PRIVATE ${unit_dir})
    target_compile_definitions(pellucid_test_${layer} PRIVATE
      PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(pellucid_test_${layer} PRIVATE pellucid_${layer} pellucid_options)
  endif()
endforeach()

# What tests/python/reprint.py and test_polish.py run: syntax trees in, source out.
add_executable(pellucid_reprint ${unit_dir}/tools/reprint.cpp)
target_link_libraries(pellucid_reprint PRIVATE pellucid_polish pellucid_print pellucid_options)

# What tests/library/check_mutants.py and tests/python/test_verify.py run: pairs of code objects in, verdicts out.
add_executable(pellucid_verify_pairs ${unit_dir}/tools/verify_pairs.cpp)
target_link_libraries(pellucid_verify_pairs PRIVATE pellucid_driver pellucid_options)

# What tests/python/test_growth.py counts.
add_executable(pellucid_web_links ${unit_dir}/tools/web_links.cpp)
target_link_libraries(pellucid_web_links PRIVATE pellucid_web_core pellucid_options)

# What tools/step_case.py runs: the graph before a step of structure, as text.
add_executable(pellucid_step_case
  ${unit_dir}/tools/step_case.cpp ${unit_dir}/structure/graph_reader.cpp
  ${unit_dir}/structure/graph_writer.cpp ${unit_dir}/structure/text_line.cpp)
target_include_directories(pellucid_step_case PRIVATE ${unit_dir})
target_link_libraries(pellucid_step_case PRIVATE pellucid_driver pellucid_options)
