// The dynamic metadata of Envoy's external authorization: a google.protobuf.Struct whose members are those of the
// answer to a check.
//
// Thread safety: values.
#pragma once

#include <cstddef>

#include "common/domain/decision.hpp"

namespace sluice::agent::rpc {

// A part as in common/base/protobuf_parts.hpp. REQUIRES: the decision outlives it.
class DynamicMetadata {
 public:
  explicit DynamicMetadata(const Decision& decision);

  std::size_t size() const { return size_; }
  char* write(char* to) const;

 private:
  const Decision& decision_;
  std::size_t of_policy_ = 0;  // bytes of the policy's own metadata, without the names and lengths around them
  std::size_t size_;
};

}  // namespace sluice::agent::rpc
