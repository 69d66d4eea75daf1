# SPDX-License-Identifier: BSD-3-Clause
#
# One call per thing, so that a new backend, plugin or test is one line:
#   hal_add_backend(elan capability.cpp ...)        backends/elan -> hal_backend_elan (static)
#   hal_add_plugin(switch elan BACKEND elan)        plugins/switch_elan.cpp -> switch_elan.so, per face
#   hal_add_mock(rmscall SONAME librmscall.so SOURCES ...)
#   hal_add_tests(hal SOURCES ... LIBS ...)         one test program per area

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(BACKPLANE_CCACHE ccache)
if(BACKPLANE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${BACKPLANE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BACKPLANE_CCACHE})
endif()

# The build tree mirrors the install tree, so that the command finds its plugins the same way in both.
set(BACKPLANE_BIN_DIR ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_BINDIR})
set(BACKPLANE_LIB_DIR ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/backplane)
set(BACKPLANE_CLASSIC_DIR ${BACKPLANE_LIB_DIR}/classic)
set(BACKPLANE_MOCK_DIR ${BACKPLANE_LIB_DIR}/mocks)

add_library(hal_warnings INTERFACE)
target_compile_options(hal_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # GCC 12 warns of `"literal" + std::string` in optimised builds (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${BACKPLANE_WERROR}>:-Werror>)

add_library(hal_sanitizers INTERFACE)
if(BACKPLANE_SANITIZE)
  target_compile_options(hal_sanitizers INTERFACE
    -fsanitize=${BACKPLANE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hal_sanitizers INTERFACE -fsanitize=${BACKPLANE_SANITIZE})
  # A vendor's functions are called by types of our own, equal in layout only.
  if(BACKPLANE_SANITIZE MATCHES undefined)
    target_compile_options(hal_sanitizers INTERFACE
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
endif()
if(BACKPLANE_FUZZ)
  target_compile_options(hal_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Each mapping of a plugin or of the command is paid at every fork of a step and at every exit: code
# and constants share one, and what nothing refers to is left out.
set(BACKPLANE_COMPACT_LINK -Wl,-z,noseparate-code -Wl,--gc-sections)

function(hal_target_defaults target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-ffunction-sections -fdata-sections>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:hal_warnings> $<BUILD_INTERFACE:hal_sanitizers>)
endfunction()

function(hal_add_backend name)
  add_library(hal_backend_${name} STATIC)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(hal_backend_${name} PRIVATE ${ARGN})
  hal_target_defaults(hal_backend_${name})
  target_link_libraries(hal_backend_${name} PUBLIC hal_core)
endfunction()

# A plugin joins binding, face (objects) and backend; a version script leaves only the names that the
# family's export list names. See plugins/classic/<family>.exports.
function(hal_add_plugin family minor)
  cmake_parse_arguments(arg "" "BACKEND" "" ${ARGN})
  set(target ${family}_${minor}_classic)
  set(exports ${PROJECT_SOURCE_DIR}/plugins/classic/${family}.exports)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${exports})
  file(STRINGS ${exports} names REGEX "^[a-z]")
  list(JOIN names ";\n    " plugin_globals)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${family}.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/plugin.map.in ${map} @ONLY)
  add_library(${target} MODULE ${PROJECT_SOURCE_DIR}/plugins/${family}_${minor}.cpp)
  hal_target_defaults(${target})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${family}_${minor} LINK_DEPENDS ${map}
    LIBRARY_OUTPUT_DIRECTORY ${BACKPLANE_CLASSIC_DIR})
  target_link_libraries(${target} PRIVATE
    hal_classic_${family} hal_backend_${arg_BACKEND} hal_core)
  # -Bsymbolic: a plugin's own names are never taken from the program that opens it.
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic
    -Wl,-z,now -Wl,-z,relro -Wl,-O1 -Wl,--hash-style=gnu -Wl,--as-needed ${BACKPLANE_COMPACT_LINK})
  if(NOT BACKPLANE_SANITIZE)  # the sanitizers' own symbols come from the program
    # With the C++ runtime inside, five plugins load in 0.7 ms instead of 1.4 ms, and a daemon in C
    # stays without it. The unwinder stays shared: a daemon may cancel threads.
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/plugins/runtime_pool.cpp)
    target_link_options(${target} PRIVATE -Wl,--no-undefined -static-libstdc++)
  endif()
  install(TARGETS ${target} DESTINATION ${CMAKE_INSTALL_LIBDIR}/backplane/classic)
endfunction()

# A mock vendor library: a real shared object with the vendor's file name and symbols.
function(hal_add_mock name)
  cmake_parse_arguments(arg "" "SONAME" "SOURCES;LIBS;DEFINES" ${ARGN})
  add_library(mock_${name} SHARED ${arg_SOURCES})
  hal_target_defaults(mock_${name})
  target_compile_definitions(mock_${name} PRIVATE ${arg_DEFINES})
  target_link_libraries(mock_${name} PRIVATE ${arg_LIBS} Threads::Threads)
  string(REGEX REPLACE "\\.so$" "" output ${arg_SONAME})
  set_target_properties(mock_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${output} LIBRARY_OUTPUT_DIRECTORY ${BACKPLANE_MOCK_DIR})
  install(TARGETS mock_${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/backplane/mocks)
endfunction()

# One GoogleTest program of the named sources; every test in it is a test of ctest.
function(hal_add_tests area)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;DEFINES;LABELS" ${ARGN})
  add_executable(${area}_tests ${arg_SOURCES})
  hal_target_defaults(${area}_tests)
  target_compile_definitions(${area}_tests PRIVATE ${arg_DEFINES}
    BACKPLANE_BIN_DIR="${BACKPLANE_BIN_DIR}" BACKPLANE_CLASSIC_DIR="${BACKPLANE_CLASSIC_DIR}"
    BACKPLANE_MOCK_DIR="${BACKPLANE_MOCK_DIR}" BACKPLANE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${area}_tests PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(arg_LABELS STREQUAL threads)  # what `check` runs under the thread sanitizer
    add_dependencies(thread_tests ${area}_tests)
  endif()
  gtest_discover_tests(${area}_tests TEST_PREFIX "${area}." DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 120)
endfunction()
