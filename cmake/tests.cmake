# SPDX-License-Identifier: Apache-2.0
# pellucid_tests holds tests/unit/<layer>/*.cpp of every layer. For work on one layer there is also
# pellucid_test_<layer>, which builds only the tests of that layer and what it knows.

set(unit_dir ${PROJECT_SOURCE_DIR}/tests/unit)
find_package(Threads REQUIRED)
find_package(Python 3.8 REQUIRED COMPONENTS Interpreter)

# pellucid_unit_tests(<folder> <library>): the object files of the tests in tests/unit/<folder>.
function(pellucid_unit_tests folder library)
  file(GLOB sources CONFIGURE_DEPENDS ${unit_dir}/${folder}/*.cpp)
  add_library(pellucid_tests_of_${folder} OBJECT ${sources})
  target_include_directories(pellucid_tests_of_${folder} PUBLIC ${unit_dir})
  target_compile_definitions(pellucid_tests_of_${folder} PRIVATE
    PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(pellucid_tests_of_${folder} PUBLIC ${library} pellucid_options)
endfunction()

set(layers_with_tests base object pickle bytecode flow ir ast structure polish print verify driver)
foreach(layer IN LISTS layers_with_tests)
  pellucid_unit_tests(${layer} pellucid_${layer})
  add_executable(pellucid_test_${layer} EXCLUDE_FROM_ALL ${unit_dir}/main.cpp)
  target_link_libraries(pellucid_test_${layer} PRIVATE pellucid_tests_of_${layer})
endforeach()
# The rewrites are shown as text; Python parses the bodies (tests/python/body_trees.py).
target_link_libraries(pellucid_tests_of_polish PUBLIC pellucid_print)
target_compile_definitions(pellucid_tests_of_polish PRIVATE PELLUCID_PYTHON="${Python_EXECUTABLE}")

# What the WebAssembly module is made of, compiled for this machine.
pellucid_web_sources(web_sources)
add_library(pellucid_web_core STATIC ${web_sources})
target_compile_definitions(pellucid_web_core PRIVATE PELLUCID_VERSION="${PROJECT_VERSION}")
target_link_libraries(pellucid_web_core PRIVATE pellucid_options PUBLIC pellucid_archive)
pellucid_unit_tests(web pellucid_web_core)
pellucid_unit_tests(cli pellucid_base)

list(TRANSFORM layers_with_tests PREPEND pellucid_tests_of_ OUTPUT_VARIABLE all_tests)
add_executable(pellucid_tests ${unit_dir}/main.cpp)
if(UNIX AND NOT PELLUCID_SANITIZE)
  target_sources(pellucid_tests PRIVATE ${PROJECT_SOURCE_DIR}/src/cli/memory.cpp)
endif()
target_link_libraries(pellucid_tests PRIVATE
  ${all_tests} pellucid_tests_of_web pellucid_tests_of_cli Threads::Threads)
add_test(NAME pellucid_tests COMMAND pellucid_tests)

# What tests/python/reprint.py runs: syntax trees in, source out.
add_executable(pellucid_reprint
  ${unit_dir}/tools/reprint.cpp ${unit_dir}/polish/tree_reader.cpp)
target_include_directories(pellucid_reprint PRIVATE ${unit_dir})
target_link_libraries(pellucid_reprint PRIVATE pellucid_print pellucid_options)

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
