# sluice_library(NAME DEPENDS lib...): the static library of this folder, from every .cpp in it.
function(sluice_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPENDS})
  endif()
endfunction()

# sluice_test(NAME [THREADS] DEPENDS lib...): a doctest program from every .cpp of this folder, run by ctest. THREADS: where it
# has several; those are what ThreadSanitizer runs (ctest -L threads), and the target thread_tests builds.
add_custom_target(thread_tests)
function(sluice_test name)
  cmake_parse_arguments(arg "THREADS" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} doctest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(arg_THREADS)
    set_tests_properties(${name} PROPERTIES LABELS threads)
    add_dependencies(thread_tests ${name})
  endif()
endfunction()

# sluice_fuzzer(NAME DEPENDS lib...): tests/fuzz/NAME.cpp as a libFuzzer program, or, in other builds,
# as a program that replays the committed corpus once (a test).
function(sluice_fuzzer name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
  if(SLUICE_FUZZ)
    add_executable(fuzz_${name} ${source})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(fuzz_${name} ${source} ${CMAKE_CURRENT_SOURCE_DIR}/replay_main.cpp)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  endif()
  target_link_libraries(fuzz_${name} PRIVATE ${arg_DEPENDS})
endfunction()

# sluice_embed(NAME HEADER path NAMESPACE ns FILES file...): an interface library whose HEADER ("lua/scripts.hpp") holds
# the files' contents as string views named like them.
function(sluice_embed name)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  set(header ${CMAKE_CURRENT_BINARY_DIR}/include/${arg_HEADER})
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} -DNAMESPACE=${arg_NAMESPACE} "-DFILES=${arg_FILES}"
            -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${arg_FILES} ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    VERBATIM)
  add_custom_target(${name}_header DEPENDS ${header})
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/include)
  add_dependencies(${name} ${name}_header)
endfunction()
