# The libraries that Sluice uses; scripts/setup installs them.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(RapidJSON REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(doctest CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
find_program(PROTOC protoc REQUIRED)  # protobuf-compiler
find_path(PROTOZERO_INCLUDE_DIR protozero/version.hpp REQUIRED)  # header-only; in the system's include path
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx)
pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(CJOSE REQUIRED IMPORTED_TARGET cjose)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)

# Boost.Asio. Its code that is not a template is compiled once (asio.cpp), which saves a quarter of the compile time of
# each file that includes it.
add_library(sluice_asio STATIC ${CMAKE_SOURCE_DIR}/cmake/asio.cpp)
target_compile_definitions(sluice_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_DISABLE_BOOST_DATE_TIME
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8)
target_link_libraries(sluice_asio PUBLIC Boost::headers OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
target_include_directories(sluice_asio SYSTEM PUBLIC ${Boost_INCLUDE_DIRS})

add_library(sluice_rapidjson INTERFACE)
target_include_directories(sluice_rapidjson SYSTEM INTERFACE ${RAPIDJSON_INCLUDE_DIRS})
target_compile_definitions(sluice_rapidjson INTERFACE RAPIDJSON_HAS_STDSTRING=1)

# The client of PostgreSQL; sanitizer builds also link a list of its known leaks.
add_library(sluice_pqxx INTERFACE)
target_link_libraries(sluice_pqxx INTERFACE PkgConfig::PQXX)
if(SLUICE_SANITIZE)
  add_library(pqxx_leaks OBJECT ${CMAKE_SOURCE_DIR}/cmake/pqxx_leaks.cpp)
  target_link_libraries(sluice_pqxx INTERFACE $<TARGET_OBJECTS:pqxx_leaks>)
endif()
