// A check's body, parsed, for the tests of what is read and of what is refused.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice::check_tests {

// A parsed body. The body lies in a block of exactly its size, so that the address sanitizer sees one byte too far.
struct Parsed {
  explicit Parsed(std::string_view text) : body(std::make_unique<char[]>(text.size())), size(text.size()) {
    text.copy(body.get(), size);
    faults = parse_check({body.get(), size}, request);
  }

  bool ok() const { return faults.empty(); }
  std::string_view value(Dimension dimension) const {
    const Value* found = request.find({dimension, ""});
    return found == nullptr ? "(absent)" : found->text;
  }
  // The faults as "status pointer: text", one a line.
  std::string refusal() const {
    std::string text;
    for (const RequestFault& fault : faults) {
      text += std::to_string(fault.status) + " " + fault.pointer + ": " + fault.text + "\n";
    }
    return text;
  }

  std::unique_ptr<char[]> body;
  std::size_t size;
  CheckRequest request;
  std::vector<RequestFault> faults;
};

// The only fault of `text`: its status and pointer.
inline std::string only_fault(std::string_view text) {
  const Parsed parsed(text);
  if (parsed.faults.size() != 1) return "not one fault:\n" + parsed.refusal();
  return std::to_string(parsed.faults[0].status) + " " + parsed.faults[0].pointer;
}

inline bool says(const Parsed& parsed, std::string_view part) {
  return parsed.refusal().find(part) != std::string::npos;
}

}  // namespace sluice::check_tests
