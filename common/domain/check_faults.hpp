// Collects the faults of a check, or of a batch of checks, while the body is read. Faults with status 400 come before
// those with 422, each group in the order of the body.
#pragma once

#include <rapidjson/error/error.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice {

class CheckFaults {
 public:
  static constexpr std::size_t kMaxFaults = 32;  // so that the answer is not many times larger than the body

  // The JSON pointer to a top-level member. A name above 64 bytes is cut and ends in "…".
  static std::string pointer_to(std::string_view name);

  void add(unsigned status, std::string pointer, std::string text, std::optional<std::size_t> offset = std::nullopt);

  // Adds a fault for an unknown top-level member.
  void add_unknown(std::string_view name);

  void add_syntax(rapidjson::ParseErrorCode code, std::size_t offset, std::span<const char> body);

  std::vector<RequestFault> take() && { return std::move(faults_); }

 private:
  void add_unreadable(std::string_view why, std::size_t offset, std::span<const char> body);

  std::vector<RequestFault> faults_;
};

}  // namespace sluice
