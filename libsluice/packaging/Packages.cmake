# The Debian packages, which scripts/package makes: libsluice0, libsluice-dev and sluicectl.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR Sluice)
set(CPACK_PACKAGE_CONTACT "The Sluice maintainers <maintainers@sluice.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime dev ctl)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(package_version "${PROJECT_VERSION}")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libsluice${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "rate limiting inside a program: shared library
Sluice decides whether a request may pass, by policies. This library decides
inside a program, with counters in memory or in Redis.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsluice-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libsluice${PROJECT_VERSION_MAJOR} (= ${package_version})")
# Only who links the static library needs these.
set(dev_packages)
foreach(need IN LISTS static_needs)
  if(need STREQUAL "ssl" OR need STREQUAL "crypto")
    list(APPEND dev_packages libssl-dev)
  elseif(need STREQUAL "z")
    list(APPEND dev_packages zlib1g-dev)
  elseif(need MATCHES "^prometheus-cpp")
    list(APPEND dev_packages prometheus-cpp-dev)
  elseif(NOT need STREQUAL "pthread")
    list(APPEND dev_packages lib${need}-dev)
  endif()
endforeach()
list(REMOVE_DUPLICATES dev_packages)
list(JOIN dev_packages ", " dev_packages)
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "${dev_packages}")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS libboost-dev)  # for asio.hpp
set(CPACK_COMPONENT_DEV_DESCRIPTION "rate limiting inside a program: headers and static library
Sluice decides whether a request may pass, by policies. This package has what
a program in C++20 or C is compiled with: headers, CMake and pkg-config files,
and a static library, which needs the recommended packages.")

set(CPACK_DEBIAN_CTL_PACKAGE_NAME sluicectl)
set(CPACK_DEBIAN_CTL_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_CTL_PACKAGE_SHLIBDEPS OFF)  # a static program
set(CPACK_COMPONENT_CTL_DESCRIPTION "administers a Sluice server from a terminal
Sluice decides whether a request may pass, by policies. This program reads and
writes the plans, policies and keys of its server.")

# Debian's rule: each package carries its licence and a list of changes.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sluice

Files: *
Copyright: the Sluice maintainers
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
foreach(pair runtime=libsluice${PROJECT_VERSION_MAJOR} dev=libsluice-dev ctl=sluicectl)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_SOURCE_DIR}/build/package)
include(CPack)
