// A command line and an environment, as main() gets them.
#pragma once

#include <string>
#include <vector>

#include "common/program/flags.hpp"

namespace sluice::program {

using Texts = std::vector<std::string>;

class Invocation {
 public:
  explicit Invocation(Texts arguments, Texts environment = {})
      : arguments_(std::move(arguments)), environment_(std::move(environment)) {
    for (const std::string& argument : arguments_) argv_.push_back(argument.c_str());
    for (const std::string& variable : environment_) variables_.push_back(variable.c_str());
    variables_.push_back(nullptr);
  }
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  int argc() const { return static_cast<int>(argv_.size()); }
  const char* const* argv() const { return argv_.data(); }
  Environment environment() const { return Environment(variables_.data()); }

 private:
  const Texts arguments_;
  const Texts environment_;
  std::vector<const char*> argv_{"program"};
  std::vector<const char*> variables_;
};

inline bool mentions(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace sluice::program
