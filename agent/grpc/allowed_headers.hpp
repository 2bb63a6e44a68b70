// The headers of an admission in Envoy's external authorization: the fields of an OkHttpResponse.
//
// The application (field 2) and the client (field 6) get the headers of the decision. Other headers of rate limits are
// removed from the request (field 5), so that no client can invent them.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "common/domain/decision.hpp"

namespace sluice::agent::rpc {

class AllowedHeaders {
 public:
  // `remove`: names of further headers that are removed from the request. REQUIRES: the references outlive it.
  AllowedHeaders(const Decision& decision, HeaderFamilies families, std::span<const std::string_view> remove)
      : decision_(decision), families_(families), remove_(remove) {}

  // The most bytes that write() writes.
  std::size_t bound() const;
  // Returns the end.
  char* write(char* to) const;

 private:
  const Decision& decision_;
  const HeaderFamilies families_;
  const std::span<const std::string_view> remove_;
};

}  // namespace sluice::agent::rpc
