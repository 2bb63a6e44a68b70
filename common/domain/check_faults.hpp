// What is wrong with a check, collected while it is read.
//
// Thread safety: one parse at a time. Invariant: at most kMaxFaults faults, so that a body full of nonsense does not
// get an answer many times its size; the gravest come first, in the order they were found.
#pragma once

#include <rapidjson/error/error.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice {

class CheckFaults {
 public:
  static constexpr std::size_t kMaxFaults = 32;

  // "/" and the name as one reference token (RFC 6901); a name over 64 bytes is cut and ends in "…".
  static std::string pointer_to(std::string_view name);

  void add(unsigned status, std::string pointer, std::string text);

  // A top-level name that is no field.
  void add_unknown(std::string_view name);

  // The reader stopped at byte `offset` of `body`.
  void add_syntax(rapidjson::ParseErrorCode code, std::size_t offset, std::span<const char> body);

  std::vector<RequestFault> take() && { return std::move(faults_); }

 private:
  std::vector<RequestFault> faults_;
};

}  // namespace sluice
