#include "common/limiter/lease_id.hpp"

#include <algorithm>

#include "common/base/crypto.hpp"
#include "common/limiter/algorithms/lease_set.hpp"

namespace sluice::limiter {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMaxLeases = 2 * kMaxLimitsPerPlan;

void put_text(Bytes& out, std::string_view text) {
  out.push_back(static_cast<std::uint8_t>(text.size() >> 8));
  out.push_back(static_cast<std::uint8_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

// After a read beyond the end, failed() stays true.
class Input {
 public:
  explicit Input(const Bytes& bytes) : left_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > left_.size()) {
      failed_ = true;
      return {};
    }
    std::string_view taken(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::uint8_t byte() {
    std::string_view one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::string_view text() {
    std::size_t high = byte();
    return take(high << 8 | byte());
  }
  bool failed() const { return failed_; }
  bool at_end() const { return left_.empty(); }

 private:
  ByteView left_;
  bool failed_ = false;
};

// Letters and digits are always allowed.
bool only(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.contains(c);
  });
}

std::string key_head(std::string_view tenant) { return "sl:{" + std::string(tenant) + '|'; }

}  // namespace

std::string encode_lease_id(std::string_view tenant, std::span<const LeaseRef> leases) {
  Bytes out{kVersion};
  put_text(out, tenant);
  out.push_back(static_cast<std::uint8_t>(leases.size()));
  std::size_t head = key_head(tenant).size();
  for (const LeaseRef& lease : leases) {
    put_text(out, std::string_view(lease.counter_key).substr(head));
    put_text(out, lease.limit_name);
    put_text(out, lease.member);
  }
  return to_base64url(out);
}

std::optional<LeaseId> decode_lease_id(std::string_view text) {
  if (text.size() > kMaxLeaseId) return std::nullopt;
  auto bytes = from_base64url(text);
  if (!bytes) return std::nullopt;
  Input input(*bytes);
  if (input.byte() != kVersion) return std::nullopt;
  LeaseId id;
  id.tenant = input.text();
  if (id.tenant.empty() || !only(id.tenant, ".-")) return std::nullopt;
  std::size_t count = input.byte();
  if (count == 0 || count > kMaxLeases) return std::nullopt;
  for (std::size_t i = 0; i < count && !input.failed(); ++i) {
    std::string_view rest = input.text(), limit = input.text(), member = input.text();
    bool sound = only(rest, "._%=|:}#-") && rest.contains('}') && !limit.empty() && only(limit, "._-") &&
                 member.size() == kLeaseMemberSize;
    if (!sound) return std::nullopt;
    id.leases.push_back({key_head(id.tenant) + std::string(rest), std::string(limit), std::string(member)});
  }
  if (input.failed() || !input.at_end()) return std::nullopt;
  return id;
}

}  // namespace sluice::limiter
