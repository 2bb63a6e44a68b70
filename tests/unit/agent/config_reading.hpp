// Reads an agent's configuration from flags and variables, for tests of what comes of it.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/config.hpp"
#include "common/program/config_reader.hpp"
#include "tests/unit/program/invocation.hpp"

namespace sluice::agent::test {

using program::Texts;

inline std::expected<Config, Faults> read(const Texts& arguments, const Texts& environment = {}) {
  const program::Invocation invocation(arguments, environment);
  return read_config(invocation.argc(), invocation.argv(), invocation.environment());
}

inline std::string all_of(const Faults& faults) { return program::describe(faults, "faulty", "sluice-agent"); }

inline Config good(const Texts& arguments, const Texts& environment = {}) {
  const auto config = read(arguments, environment);
  const std::string faults = config ? "" : all_of(config.error());
  CAPTURE(faults);
  REQUIRE(config.has_value());
  return *config;
}

inline Faults faulty(const Texts& arguments, const Texts& environment = {}) {
  const auto config = read(arguments, environment);
  REQUIRE_FALSE(config.has_value());
  return config.error();
}

// The text of the one fault there is, which must be of `source`.
inline std::string only_fault(const std::string& source, const Texts& arguments, const Texts& environment = {}) {
  const Faults faults = faulty(arguments, environment);
  const std::string all = all_of(faults);
  CAPTURE(all);
  CHECK(faults.size() == 1);
  CHECK(faults[0].pointer == source);
  return faults[0].text;
}

// A folder of its own, gone with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-config-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string file(const std::string& name) const {
    std::ofstream(path(name)) << "x";
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::agent::test
