// Where a webhook may lead: its URL, and the addresses that a connection may be opened to.
//
// Customers write the URL, and the server calls it from inside the network. So the server refuses every address that
// is not one of the public Internet, unless the operator allows it. A name is judged by its addresses at every
// connect: what it leads to can change.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/ip_address.hpp"
#include "common/http_client/url.hpp"

namespace sluice::server::webhooks {

inline constexpr std::size_t kMaxUrlBytes = 2048;

// Whether an address belongs to the public Internet: none of the special blocks of IANA's registries (RFC 6890), nor
// one that tunnels to IPv4 (6to4, NAT64, Teredo), nor a cloud's address for metadata.
bool is_public(const IpAddress& address);

class AddressRules {
 public:
  // `allowed`: blocks that the operator allows although they are not public.
  explicit AddressRules(std::vector<IpBlock> allowed = {}) : allowed_(std::move(allowed)) {}

  bool allows_some() const { return !allowed_.empty(); }
  bool allows(const IpAddress& address) const;
  // Without encryption, only allowed blocks will do. Error: `forbidden_address`.
  Result<> check(const IpAddress& address, bool encrypted) const;

 private:
  std::vector<IpBlock> allowed_;
};

struct Target {
  http_client::Url server;
  std::string path;  // with the query; begins with "/"
};

// The text of an error completes a sentence that begins with "url". Error: `url`.
Result<Target> parse_target(std::string_view url, const AddressRules& rules);

}  // namespace sluice::server::webhooks
