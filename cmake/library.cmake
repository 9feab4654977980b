# SPDX-License-Identifier: Apache-2.0
# libpellucid: all layers in one archive, with the public headers and a package file for CMake.
#
#   cmake -S . -B build && cmake --build build --target libpellucid
#   cmake --install build --component library --prefix DIR
#
# A program that finds DIR writes `find_package(pellucid)` and links pellucid::pellucid
# (examples/library). No other install takes these along: a wheel has the extension alone.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(layers GLOBAL PROPERTY pellucid_layers)
foreach(layer IN LISTS layers)
  string(REPLACE "/" "_" name ${layer})
  list(APPEND objects $<TARGET_OBJECTS:pellucid_${name}>)
endforeach()
add_library(libpellucid STATIC EXCLUDE_FROM_ALL ${objects})
set_target_properties(libpellucid PROPERTIES
  OUTPUT_NAME pellucid EXPORT_NAME pellucid LINKER_LANGUAGE CXX)
target_compile_features(libpellucid INTERFACE cxx_std_20)
target_include_directories(libpellucid INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pellucid)
install(TARGETS libpellucid EXPORT pellucid_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library EXCLUDE_FROM_ALL)
# What generated.h declares is for the extension.
install(FILES include/pellucid/pellucid.h include/pellucid/result.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pellucid COMPONENT library EXCLUDE_FROM_ALL)
install(EXPORT pellucid_targets NAMESPACE pellucid:: FILE pellucid-config.cmake
  DESTINATION ${package} COMPONENT library EXCLUDE_FROM_ALL)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pellucid-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pellucid-config-version.cmake
  DESTINATION ${package} COMPONENT library EXCLUDE_FROM_ALL)
