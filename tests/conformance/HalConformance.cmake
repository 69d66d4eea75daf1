# SPDX-License-Identifier: BSD-3-Clause
#
# hal_add_conformance(<backend> ROLES interconnect [MOCKS <targets>] [TARGET <library>] [DEFINES ...])
#
# Roles: interconnect (credential codec, controller and node), interconnect_controller (without the
# node), process_aggregate (its under_test file instantiates ProcessAggregateTest).
# Builds <backend>_conformance_tests of their suites and of <backend>_under_test.cpp in the current
# folder, which defines hal::conformance::backend_under_test(), and gives each test to ctest. TARGET
# is the backend's library (hal_backend_<backend> by default); MOCKS are built first.
find_package(GTest REQUIRED)
include(GoogleTest)
set(hal_conformance_dir ${CMAKE_CURRENT_LIST_DIR})
set(hal_conformance_interconnect_controller_sources
  credential_codec_test.cpp interconnect_controller_test.cpp interconnect_suite.cpp)
set(hal_conformance_interconnect_sources ${hal_conformance_interconnect_controller_sources}
  interconnect_destroy_test.cpp interconnect_node_test.cpp step_process.cpp)
set(hal_conformance_process_aggregate_sources
  process_aggregate.cpp process_aggregate_life.cpp test_process.cpp)

# One library per role; the whole archive is linked, because nothing refers to a test by name.
function(hal_conformance_library role)
  if(TARGET hal_conformance_${role})
    return()
  endif()
  set(sources ${hal_conformance_${role}_sources})
  if(NOT sources)
    message(FATAL_ERROR "hal_add_conformance: no suite for the role ${role}")
  endif()
  list(TRANSFORM sources PREPEND ${hal_conformance_dir}/)
  add_library(hal_conformance_${role} STATIC EXCLUDE_FROM_ALL ${sources})
  target_compile_features(hal_conformance_${role} PUBLIC cxx_std_20)
  cmake_path(SET root NORMALIZE ${hal_conformance_dir}/../..)
  target_include_directories(hal_conformance_${role} PUBLIC ${root})
  target_link_libraries(hal_conformance_${role} PUBLIC hal::core GTest::gmock GTest::gtest)
  if(COMMAND hal_target_defaults)
    hal_target_defaults(hal_conformance_${role})
  endif()
endfunction()

function(hal_add_conformance backend)
  cmake_parse_arguments(arg "" "TARGET" "ROLES;MOCKS;LIBS;DEFINES" ${ARGN})
  if(NOT arg_TARGET)
    set(arg_TARGET hal_backend_${backend})
  endif()
  set(program ${backend}_conformance_tests)
  add_executable(${program} ${backend}_under_test.cpp)
  foreach(role ${arg_ROLES})
    hal_conformance_library(${role})
    target_link_libraries(${program} PRIVATE
      "$<LINK_LIBRARY:WHOLE_ARCHIVE,hal_conformance_${role}>")
  endforeach()
  if(COMMAND hal_target_defaults)
    hal_target_defaults(${program})
  endif()
  target_compile_definitions(${program} PRIVATE ${arg_DEFINES})
  target_link_libraries(${program} PRIVATE ${arg_TARGET} ${arg_LIBS} GTest::gmock GTest::gtest_main)
  if(arg_MOCKS)
    list(TRANSFORM arg_MOCKS PREPEND mock_)
    add_dependencies(${program} ${arg_MOCKS})
  endif()
  gtest_discover_tests(${program} TEST_PREFIX "conformance.${backend}." DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS conformance TIMEOUT 120)
endfunction()
