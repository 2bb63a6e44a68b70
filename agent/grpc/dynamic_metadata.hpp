// The dynamic metadata of Envoy's external authorization: a google.protobuf.Struct whose members are those of the
// answer to a check.
//
// Thread safety: values.
#pragma once

#include <cstddef>

#include "common/domain/decision.hpp"

namespace sluice::agent::rpc {

// REQUIRES: the decision outlives it.
class DynamicMetadata {
 public:
  explicit DynamicMetadata(const Decision& decision);

  // The most bytes that write() writes.
  std::size_t bound() const;
  // Returns the end.
  char* write(char* to) const;

 private:
  const Decision& decision_;
  std::size_t of_policy_ = 0;  // bytes of the policy's own metadata, without the names and lengths around them
};

}  // namespace sluice::agent::rpc
