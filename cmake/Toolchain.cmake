# Compiler and flags of every target. Only clang is accepted: g++ 12.2 miscompiles common shapes of coroutines.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "Sluice is built with clang 19 or later; use one of the presets: cmake --preset release")
endif()

set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")
option(SLUICE_COVERAGE "Instrument for line coverage" OFF)
option(SLUICE_LTO "Link with ThinLTO" OFF)
option(SLUICE_QUICK_COMPILE "Compile the files of a folder eight at a time, tests too and these at -O0: twice as fast, but it hides a missing #include" OFF)
set(SLUICE_ALONE "" CACHE STRING "Sources, relative to the root, that SLUICE_QUICK_COMPILE leaves alone: scripts/mutate changes them one by one")
option(SLUICE_FUZZ "Build the libFuzzer targets as fuzzers (else they only replay their corpus)" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  # Relative paths, so that builds in different folders and clones share the compiler's cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

# Sanitizer builds are made for running tests, not for debuggers: -O1 keeps them fast, line tables keep reports readable.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -gline-tables-only -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_DEBUG "-O1 -gline-tables-only -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -gline-tables-only -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -gline-tables-only -DNDEBUG")

add_link_options(-fuse-ld=lld-19)
if(SLUICE_LTO)
  add_compile_options(-flto=thin)
  add_link_options(-flto=thin -Wl,--thinlto-cache-dir=${CMAKE_BINARY_DIR}/lto-cache)
endif()
if(SLUICE_SANITIZE)
  # By the option's old name ccache knows that it names a file, and reads it; by the new one, a changed list would not compile
  # anything anew. A relative path, so that all checkouts share the cache.
  file(RELATIVE_PATH ignore_list ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/cmake/sanitizer_ignore.txt)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fsanitize-blacklist=${ignore_list})
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()
if(SLUICE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(SLUICE_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

# -ffp-contract=off: no fused multiply-add, because the limiter's doubles must give the same results as Lua in Redis.
add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off)
include_directories(${CMAKE_SOURCE_DIR})
