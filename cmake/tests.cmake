# pellucid_tests holds every tests/stages/*.cpp. For work on one layer there is also
# pellucid_test_<layer>, which builds only tests/stages/<layer>*.cpp and what that layer knows.

file(GLOB test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/stages/*.cpp)
list(FILTER test_sources EXCLUDE REGEX "/main\\.cpp$")
set(test_main ${PROJECT_SOURCE_DIR}/tests/stages/main.cpp)
set(stages_dir ${PROJECT_SOURCE_DIR}/tests/stages)

add_executable(pellucid_tests ${test_main} ${test_sources})
if(UNIX AND NOT PELLUCID_SANITIZE)
  target_sources(pellucid_tests PRIVATE ${PROJECT_SOURCE_DIR}/src/cli/memory.cpp)
endif()
target_include_directories(pellucid_tests PRIVATE ${stages_dir})
target_compile_definitions(pellucid_tests PRIVATE PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
find_package(Threads REQUIRED)
target_link_libraries(pellucid_tests PRIVATE pellucid_driver pellucid_options Threads::Threads)
add_test(NAME pellucid_tests COMMAND pellucid_tests)

foreach(layer base object bytecode flow ir ast structure polish print verify driver)
  set(layer_tests ${test_sources})
  list(FILTER layer_tests INCLUDE REGEX "/stages/${layer}[^/]*\\.cpp$")
  if(layer_tests)
    add_executable(pellucid_test_${layer} EXCLUDE_FROM_ALL ${test_main} ${layer_tests})
    target_include_directories(pellucid_test_${layer} PRIVATE ${stages_dir})
    target_compile_definitions(pellucid_test_${layer} PRIVATE
      PELLUCID_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(pellucid_test_${layer} PRIVATE pellucid_${layer} pellucid_options)
  endif()
endforeach()

# What tests/python/reprint.py runs: syntax trees in, source out.
add_executable(pellucid_reprint ${stages_dir}/print_tool/reprint.cpp)
target_link_libraries(pellucid_reprint PRIVATE pellucid_print pellucid_options)

# What tests/library/check_mutants.py and tests/python/test_verify.py run: pairs of code objects in, verdicts out.
add_executable(pellucid_verify_pairs ${stages_dir}/verify_tool/verify_pairs.cpp)
target_link_libraries(pellucid_verify_pairs PRIVATE pellucid_driver pellucid_options)
