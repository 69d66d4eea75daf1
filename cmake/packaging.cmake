# SPDX-License-Identifier: BSD-3-Clause
# What is installed beside the plugins and the command: hal::core with its headers, the package files
# for CMake and pkg-config, the documents; and the Debian package made by CPack.
include(CMakePackageConfigHelpers)

set(backplane_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Backplane)

set_target_properties(hal_core PROPERTIES EXPORT_NAME core OUTPUT_NAME backplane_hal)
install(TARGETS hal_core EXPORT BackplaneTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/backplane)
install(EXPORT BackplaneTargets NAMESPACE hal:: DESTINATION ${backplane_cmake_dir})

# The conformance suites travel as sources: a vendor builds them with his own GoogleTest.
set(backplane_conformance_dir ${CMAKE_INSTALL_DATADIR}/backplane/conformance/tests/conformance)
install(DIRECTORY tests/conformance/ DESTINATION ${backplane_conformance_dir}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "HalConformance.cmake"
  PATTERN contract_test.cpp EXCLUDE)
configure_package_config_file(cmake/BackplaneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/BackplaneConfig.cmake INSTALL_DESTINATION ${backplane_cmake_dir}
  PATH_VARS backplane_conformance_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/BackplaneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/BackplaneConfig.cmake
  ${PROJECT_BINARY_DIR}/BackplaneConfigVersion.cmake DESTINATION ${backplane_cmake_dir})

file(RELATIVE_PATH backplane_pc_to_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/backplane.pc.in ${PROJECT_BINARY_DIR}/backplane.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/backplane.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME backplane)
set(CPACK_PACKAGE_VENDOR "Backplane")
set(CPACK_PACKAGE_CONTACT "Backplane maintainers")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Backplane maintainers")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
