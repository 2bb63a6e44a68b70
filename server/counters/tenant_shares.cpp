#include "server/counters/tenant_shares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "common/domain/identifiers.hpp"

namespace sluice::server::counters {
namespace {

constexpr double kDeviations = 1.96;  // of a normal distribution: 95 %
// If all or none of n random keys are a tenant's, its true share may still differ by 3 / n ("rule of three").
constexpr double kRuleOfThree = 3;

// How many keys of a node each sampled key stands for.
double weight(const NodeSample& node) {
  return static_cast<double>(node.keys) / static_cast<double>(node.sampled.size());
}

// Taylor's linearization of the ratio of two estimated totals. `is_in`: whether the share counts a key.
template <class IsIn>
double margin_of(std::span<const NodeSample> nodes, double share, double all_bytes, IsIn is_in) {
  double variance = 0;
  std::size_t count = 0;
  for (const NodeSample& node : nodes) {
    count += node.sampled.size();
    for (const SampledKey& key : node.sampled) {
      const double residual = static_cast<double>(key.bytes) * ((is_in(key.tenant) ? 1.0 : 0.0) - share);
      variance += std::pow(weight(node) * residual, 2);
    }
  }
  const double margin = kDeviations * std::sqrt(variance) / all_bytes;
  return std::min(1.0, std::max(margin, kRuleOfThree / static_cast<double>(count)));
}

}  // namespace

std::optional<std::string_view> tenant_of(std::string_view key) {
  static constexpr std::string_view kHead = "sl:{";
  if (!key.starts_with(kHead)) return std::nullopt;
  key.remove_prefix(kHead.size());
  const std::size_t end = key.find('|');
  if (end == std::string_view::npos || !is_id(key.substr(0, end))) return std::nullopt;
  return key.substr(0, end);
}

std::vector<TenantShare> estimate_shares(std::span<const NodeSample> nodes, std::size_t most) {
  std::map<std::string, TenantShare, std::less<>> by_tenant;
  double all_bytes = 0;
  for (const NodeSample& node : nodes) {
    for (const SampledKey& key : node.sampled) {
      const double bytes = weight(node) * static_cast<double>(key.bytes);
      all_bytes += bytes;
      TenantShare& share = by_tenant[key.tenant];
      share.keys += weight(node);
      share.bytes += bytes;
    }
  }
  if (all_bytes <= 0) return {};
  TenantShare rest = std::exchange(by_tenant[""], {});
  by_tenant.erase("");
  std::vector<TenantShare> shares;
  for (auto& [tenant, share] : by_tenant) shares.emplace_back(std::move(share)).tenant = tenant;
  std::ranges::sort(shares, std::ranges::greater(), &TenantShare::bytes);
  for (std::size_t i = most; i < shares.size(); ++i) {
    rest.keys += shares[i].keys;
    rest.bytes += shares[i].bytes;
  }
  shares.resize(std::min(shares.size(), most));
  const std::size_t listed = shares.size();
  if (rest.bytes > 0) shares.push_back(std::move(rest));
  const auto is_listed = [&](const std::string& tenant) {
    const auto named = std::span(shares).first(listed);
    return std::ranges::find(named, tenant, &TenantShare::tenant) != named.end();
  };
  for (TenantShare& share : shares) {
    share.share = share.bytes / all_bytes;
    share.margin = margin_of(nodes, share.share, all_bytes, [&](const std::string& tenant) {
      return share.tenant.empty() ? !is_listed(tenant) : tenant == share.tenant;
    });
  }
  return shares;
}

}  // namespace sluice::server::counters
