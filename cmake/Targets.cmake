# sluice_unity(OUT SOURCES file...): with SLUICE_QUICK_COMPILE, OUT is a list of generated files that each include up to eight of the
# sources; otherwise OUT is the sources. Our own and not CMake's UNITY_BUILD, because that writes absolute paths: with paths relative
# to the root, clones in different folders share the compiler's cache. A source with the property SKIP_UNITY_BUILD_INCLUSION stays alone.
# So do those that SLUICE_ALONE names. They are compiled again and again with bugs planted: not optimized, and without warnings.
# The included files share one translation unit: their anonymous namespaces must not define the same name.
function(sluice_unity out)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  set(result)
  set(batch "")
  set(in_batch 0)
  foreach(source IN LISTS arg_SOURCES)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT SLUICE_QUICK_COMPILE OR alone)
      list(APPEND result ${source})
      continue()
    endif()
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${source})
    if(relative IN_LIST SLUICE_ALONE)  # its place in the batch stays empty, so that the other batches stay as they are
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O0;-w")
      list(APPEND result ${source})
    else()
      string(APPEND batch "#include \"${relative}\"\n")
    endif()
    math(EXPR in_batch "${in_batch} + 1")
    if(in_batch EQUAL 8)
      sluice_unity_file(result "${batch}")
      set(batch "")
      set(in_batch 0)
    endif()
  endforeach()
  sluice_unity_file(result "${batch}")
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# Appends to LIST a file in the build folder with this content, if there is any, named after its first source. It is
# rewritten only if the content changed.
function(sluice_unity_file list content)
  if(content STREQUAL "")
    return()
  endif()
  string(REGEX MATCH "([^/\"]*/[^/]*)\\.cpp" _ "${content}")
  string(REPLACE "/" "_" name "${CMAKE_MATCH_1}")
  set(file ${CMAKE_CURRENT_BINARY_DIR}/unity_${name}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
  set(${list} ${${list}} ${file} PARENT_SCOPE)
endfunction()

# sluice_library(NAME [SEPARATE] DEPENDS lib...): the static library of this folder, from every .cpp in it but main.cpp.
# SEPARATE: always compile one object for each file.
function(sluice_library name)
  cmake_parse_arguments(arg "SEPARATE" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/main.cpp)
  if(NOT arg_SEPARATE)
    sluice_unity(sources SOURCES ${sources})
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${arg_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPENDS})
  endif()
endfunction()

# sluice_test(NAME [THREADS] [OPTIMIZED] [FOLDERS folder...] [APART file...] DEPENDS lib...): a doctest program from every .cpp of this
# folder and of the subfolders FOLDERS, run by ctest. Most of what a test compiles is headers, so SLUICE_QUICK_COMPILE compiles eight together.
# APART: files that define a name in their anonymous namespace as another file does: each is compiled by itself.
# THREADS: the program starts threads; ThreadSanitizer runs these (ctest -L threads), and the target thread_tests builds them.
# OPTIMIZED: the tests' own code works long enough to be worth optimizing; with SLUICE_QUICK_COMPILE the others compile at -O0, in half the time.
# ctest stops the program after 300 s unless its folder sets another TIMEOUT. tests/unit/doctest_main.cpp limits single cases.
add_custom_target(thread_tests)
function(sluice_test name)
  cmake_parse_arguments(arg "THREADS;OPTIMIZED" "" "DEPENDS;FOLDERS;APART" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    return()
  endif()
  set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  sluice_unity(sources SOURCES ${sources})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} doctest_main)
  if(SLUICE_QUICK_COMPILE AND NOT arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
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
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE fuzz_replay)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
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
