#include "libsluice/request_of.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "common/base/short_text.hpp"
#include "common/base/text.hpp"
#include "common/base/utf8.hpp"
#include "common/domain/check_rules.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"

namespace sluice::lib {
namespace {

using check_rules::kMaxNamed;
using check_rules::kMaxText;

struct DimensionMember {
  Dimension dimension;
  std::string_view v1::Request::* member;
};

constexpr std::array kDimensionMembers{
    DimensionMember{Dimension::resource, &v1::Request::resource},
    DimensionMember{Dimension::subject, &v1::Request::subject},
    DimensionMember{Dimension::method, &v1::Request::method},
    DimensionMember{Dimension::endpoint, &v1::Request::endpoint},
    DimensionMember{Dimension::user, &v1::Request::user},
    DimensionMember{Dimension::client, &v1::Request::client},
    DimensionMember{Dimension::client_id, &v1::Request::client_id},
    DimensionMember{Dimension::source_ip, &v1::Request::source_ip},
    DimensionMember{Dimension::application, &v1::Request::application},
    DimensionMember{Dimension::service, &v1::Request::service},
    DimensionMember{Dimension::environment, &v1::Request::environment},
    DimensionMember{Dimension::signal, &v1::Request::signal},
    DimensionMember{Dimension::operation, &v1::Request::operation},
    DimensionMember{Dimension::region, &v1::Request::region},
    DimensionMember{Dimension::severity, &v1::Request::severity},
    DimensionMember{Dimension::span_name, &v1::Request::span_name},
    DimensionMember{Dimension::topic, &v1::Request::topic},
    DimensionMember{Dimension::consumer_group, &v1::Request::consumer_group},
    DimensionMember{Dimension::job_type, &v1::Request::job_type},
    DimensionMember{Dimension::priority, &v1::Request::priority},
};
// The core sets these itself, but leaves them as they are where it has nothing to say.
constexpr std::uint32_t bit_of(Dimension dimension) { return std::uint32_t{1} << static_cast<unsigned>(dimension); }
constexpr std::uint32_t kOfCore = bit_of(Dimension::org) | bit_of(Dimension::tenant) | bit_of(Dimension::api_key);
static_assert(kDimensionMembers.size() + std::popcount(kOfCore) == kNamedDimensions);

constexpr std::string_view kNoDimension = "is required unless another dimension or a plan is given";
constexpr std::string_view kNoPlan = "names no plan; leave it out to match policies";
constexpr std::string_view kTwoCosts =
    "both costs and cost give the cost in requests: leave cost as it is, or leave requests out of costs";
constexpr std::string_view kTwice = "given twice";
constexpr std::string_view kNotUtf8 = "not UTF-8";

// `entry`: the name in tags, attributes, costs or limits; "" if the field itself is at fault.
bool refuse(v1::Status& status, std::string_view field, std::string_view entry, std::string_view rule) {
  status.code = v1::Code::invalid_request;
  status.message =
      visible(entry.empty() ? fmt::format("{}: {}", field, rule) : fmt::format("{}.{}: {}", field, entry, rule));
  return false;
}

bool is_text(std::string_view text) { return text.size() <= kMaxText && is_utf8(text); }

std::string_view fault_of_text(std::string_view text) {
  return text.size() > kMaxText ? check_rules::kTextRule : kNotUtf8;
}

// Accepts the name of an entry. `known`: an entry before it has the same name.
bool accept_name(v1::Status& status, std::string_view field, std::string_view name, bool known) {
  if (!check_rules::is_name(name)) return refuse(status, field, "", check_rules::fault_of_name(name));
  if (!is_utf8(name)) return refuse(status, field, "", "a name is not UTF-8");
  return !known || refuse(status, field, name, kTwice);
}

bool take_named(std::span<const v1::Named> from, std::string_view field, std::vector<NamedValue>& out,
                v1::Status& status) {
  if (from.size() > kMaxNamed) return refuse(status, field, "", check_rules::kNamesRule);
  for (const v1::Named& each : from) {
    const bool known = std::ranges::find(out, each.name, &NamedValue::name) != out.end();
    if (!accept_name(status, field, each.name, known)) return false;
    if (!is_text(each.value)) return refuse(status, field, each.name, fault_of_text(each.value));
    out.emplace_back(each.name, each.value);
  }
  return true;
}

bool take_costs(const v1::Request& from, CheckRequest& out, v1::Status& status) {
  if (!check_rules::is_cost(from.cost)) return refuse(status, "cost", "", check_rules::fault_of_cost(from.cost < 0));
  out.requests = from.cost;
  if (from.costs.empty()) return true;
  if (from.costs.size() > kMaxNamed) return refuse(status, "costs", "", check_rules::kNamesRule);
  bool requests_named = false;
  for (const v1::Amount& each : from.costs) {
    const bool requests = each.name == "requests";
    const bool known =
        requests ? requests_named : std::ranges::find(out.costs, each.name, &UnitCost::unit) != out.costs.end();
    if (!accept_name(status, "costs", each.name, known)) return false;
    if (!check_rules::is_cost(each.value)) {
      return refuse(status, "costs", each.name, check_rules::fault_of_cost(each.value < 0));
    }
    if (!requests) {
      out.costs.push_back({each.name, each.value});
      continue;
    }
    if (from.cost != 1) return refuse(status, "costs", "requests", kTwoCosts);
    requests_named = true;
    out.requests = each.value;
  }
  return true;
}

bool take_limits(std::span<const v1::Amount> from, CheckRequest& out, v1::Status& status) {
  if (from.size() > kMaxNamed) return refuse(status, "limits", "", check_rules::kNamesRule);
  for (const v1::Amount& each : from) {
    const bool known =
        std::ranges::find(out.limit_override, each.name, &BroughtLimit::name) != out.limit_override.end();
    if (!accept_name(status, "limits", each.name, known)) return false;
    if (!check_rules::is_limit(each.value)) {
      return refuse(status, "limits", each.name, check_rules::fault_of_limit(fmt::format("{}", each.value)));
    }
    out.limit_override.push_back({each.name, each.value});
  }
  return true;
}

}  // namespace

// Most programs have few routes, and ask for the same one many times.
bool RequestReader::take_resource(std::string_view resource, std::string_view& out, v1::Status& status) {
  if (!are_same(resource, resource_)) {
    resource_.clear();  // in case of a fault, or that an allocation fails
    if (!is_utf8(resource)) return refuse(status, "resource", "", kNotUtf8);
    canonical_ = resource;
    canonical_.resize(canonical_resource({canonical_.data(), canonical_.size()}).size());
    if (canonical_.size() > kMaxText) return refuse(status, "resource", "", check_rules::kTextRule);  // without a query
    resource_ = resource;
  }
  out = canonical_;
  return true;
}

// Returns the dimension's bit, or 0 if the text breaks a rule.
std::uint32_t RequestReader::take_dimension(Dimension dimension, std::string_view text, CheckRequest& out,
                                            v1::Status& status) {
  if (dimension == Dimension::resource) {
    if (!take_resource(text, text, status)) return 0;
  } else if (!is_text(text)) {
    refuse(status, dimension_name(dimension), "", fault_of_text(text));
    return 0;
  } else if (dimension == Dimension::source_ip) {
    const auto address = find_address(text);
    if (!address) {
      refuse(status, dimension_name(dimension), "", check_rules::fault_of_source_ip(text));
      return 0;
    }
    text = *address;
  }
  out.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
  return bit_of(dimension);
}

template <std::size_t... i>
bool RequestReader::take_members(const v1::Request& from, CheckRequest& out, v1::Status& status, std::uint32_t& filled,
                                 std::index_sequence<i...>) {
  // An empty value is not present in the core.
  const auto take = [&](const DimensionMember& each) {
    const std::string_view text = from.*each.member;
    if (text.empty()) return true;
    const std::uint32_t bit = take_dimension(each.dimension, text, out, status);
    filled |= bit;
    return bit != 0;
  };
  return ((from.*kDimensionMembers[i].member).size() | ...) == 0 || (take(kDimensionMembers[i]) && ...);
}

// Returns whether all are valid. Sets filled_ to what it has filled in, or to all if it throws. Most members are
// absent, so four of them are passed over together.
bool RequestReader::take_dimensions(const v1::Request& from, CheckRequest& out, v1::Status& status) {
  static_assert(kDimensionMembers.size() == 20);
  constexpr std::uint32_t kAll = (std::uint32_t{1} << kNamedDimensions) - 1;
  filled_ = kAll;
  std::uint32_t filled = 0;
  const bool valid = take_members(from, out, status, filled, std::index_sequence<0, 1, 2, 3>()) &&
                     take_members(from, out, status, filled, std::index_sequence<4, 5, 6, 7>()) &&
                     take_members(from, out, status, filled, std::index_sequence<8, 9, 10, 11>()) &&
                     take_members(from, out, status, filled, std::index_sequence<12, 13, 14, 15>()) &&
                     take_members(from, out, status, filled, std::index_sequence<16, 17, 18, 19>());
  filled_ = filled;
  return valid;
}

bool RequestReader::read(const v1::Request& from, CheckRequest& out, v1::Status& status) {
  for (std::uint32_t left = filled_ | kOfCore; left != 0; left &= left - 1) {
    out.dimensions[static_cast<std::size_t>(std::countr_zero(left))] = {};
  }
  out.tags.clear();
  out.attributes.clear();
  out.costs.clear();
  out.limit_override.clear();
  out.explain = from.explain;
  if (!take_dimensions(from, out, status)) return false;
  if (!take_costs(from, out, status)) return false;
  if (!from.tags.empty() && !take_named(from.tags, "tags", out.tags, status)) return false;
  if (!from.attributes.empty() && !take_named(from.attributes, "attributes", out.attributes, status)) return false;
  if (!from.limits.empty() && !take_limits(from.limits, out, status)) return false;

  out.plan_id = from.plan;
  if (from.plan.data() != nullptr) {
    if (from.plan.empty()) return refuse(status, "plan", "", kNoPlan);
    if (!is_text(from.plan)) return refuse(status, "plan", "", fault_of_text(from.plan));
  } else if (filled_ == 0 && from.tags.empty() && from.attributes.empty()) {
    const bool identified = std::ranges::any_of(
        kDimensionMembers, [&](const DimensionMember& each) { return (from.*each.member).data() != nullptr; });
    if (!identified) return refuse(status, "resource", "", kNoDimension);
  }
  out.request_id = from.request_id;
  return from.request_id.empty() || is_text(from.request_id) ||
         refuse(status, "request_id", "", fault_of_text(from.request_id));
}

}  // namespace sluice::lib
