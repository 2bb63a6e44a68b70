#include "common/objects/scope_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "common/base/text.hpp"
#include "common/domain/dimension_hint.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"

namespace sluice {
namespace {

bool is_source_ip(std::string_view value) { return value.ends_with('*') || parse_ip(value) || parse_cidr(value); }

void read_value(const json::Value& value, const json::Place& at, json::FaultList& faults, bool written_by_person,
                ScopeTerm& term) {
  if (value.type() != json::Type::string) {
    return faults.add(at, json::wrong_type_text(to_string(term.dimension), value, "a string or a list of strings") +
                              json::quoting_hint(value));
  }
  if (value.text().size() > kMaxValueBytes) {
    return faults.add(at, fmt::format("a value of a scope is at most {} bytes long", kMaxValueBytes));
  }
  if (term.dimension.dimension == Dimension::source_ip && !is_source_ip(value.text())) {
    return faults.add(at, fmt::format("{} is not an address such as 10.0.0.7, a CIDR block such as 10.0.0.0/8, or a "
                                      "prefix ending in *",
                                      quoted(value.text())));
  }
  if (term.dimension.dimension != Dimension::resource) {
    term.values.emplace_back(value.text());
    return;
  }
  std::string resource = canonical_scope_resource(value.text());
  if (written_by_person && has_braces(resource)) {
    if (auto fault = pattern_fault(resource)) return faults.add(at, std::move(*fault));
  }
  term.values.push_back(std::move(resource));
}

void read_term(json::Fields& object, json::Member& member, DimensionRef dimension, bool written_by_person,
               std::vector<ScopeTerm>& out) {
  member.taken = true;
  if (member.value.type() == json::Type::null) return;
  const auto same = std::ranges::find(out, dimension, &ScopeTerm::dimension);
  if (same != out.end()) {
    return object.fault(member.name,
                        fmt::format("{} is in the scope already: write all its values as one list there", member.name));
  }
  ScopeTerm& term = out.emplace_back(ScopeTerm{std::move(dimension), {}});
  object.each(member.name, true, [&](const json::Value& value, const json::Place& at) {
    read_value(value, at, object.faults(), written_by_person, term);
  });
  if (member.value.type() == json::Type::array && member.value.items().empty()) {
    object.fault(member.name,
                 fmt::format("{} is an empty list, which matches no request: leave it out to match all", member.name));
  }
  std::ranges::sort(term.values);
  term.values.erase(std::ranges::unique(term.values).begin(), term.values.end());
}

// Other limiters name the owner of a policy in its scope. A policy is its tenant's anyway, so the owner itself is
// dropped, and every other name is a fault. Returns false if the member is no such name.
bool read_owner(json::Fields& fields, json::Member& member, const ScopeOwner& owner) {
  const bool is_tenant = member.name == "tenant_id";
  if (!is_tenant && member.name != "org_id") return false;
  member.taken = true;
  const std::string_view own = is_tenant ? owner.tenant_id : owner.organization_id;
  if (member.value.type() == json::Type::null || owner.tenant_id.empty()) return true;
  if (own.empty()) {
    fields.fault(member.name, "org_id cannot be compared, because the tenant names no organization here: leave it out");
    return true;
  }
  bool same = true;
  fields.each(member.name, true, [&](const json::Value& value, const json::Place&) {
    same = same && value.type() == json::Type::string && value.text() == own;
  });
  if (!same) {
    fields.fault(member.name, fmt::format("{} in a scope must be {}, the {} that the policy belongs to: leave it out",
                                          member.name, quoted(own), is_tenant ? "tenant" : "organization"));
  }
  return true;
}

void read_scope_object(const json::Value& value, const json::Place& at, json::FaultList& faults,
                       const ScopeOwner& owner, std::vector<ScopeTerm>& out) {
  json::Fields fields(value, at, faults);
  for (json::Member& member : fields.members()) {
    if (member.taken) continue;  // a duplicate name, which is a fault already
    if (read_owner(fields, member, owner)) continue;
    if (auto dimension = parse_dimension(member.name)) {
      read_term(fields, member, std::move(*dimension), owner.written_by_person, out);
    } else {
      fields.fault(member.name,
                   not_a_dimension(member.name,
                                   "write one such as resource, subject, service, source_ip, tag.NAME or attr.NAME"));
    }
  }
}

// `ip` beside the limits of a policy is like no other field of it, but `source_ip` can stand there.
void refuse_short_names(json::Fields& policy) {
  for (json::Member& member : policy.members()) {
    if (member.taken) continue;
    const std::string dimension = intended_dimension(member.name);
    if (!dimension.ends_with(fmt::format("_{}", member.name))) continue;
    member.taken = true;
    policy.fault(member.name, fmt::format("{} is not a field of this object: did you mean {}?", quoted(member.name),
                                          quoted(dimension)));
  }
}

}  // namespace

bool is_scope_shorthand(Dimension dimension) {
  return dimension != Dimension::org && dimension != Dimension::tenant && dimension != Dimension::priority;
}

void read_scope(json::Fields& policy, const ScopeOwner& owner, std::vector<ScopeTerm>& out) {
  if (const json::Value* const scope = policy.take("scope")) {
    const json::Place at = policy.at().member("scope");
    read_scope_object(*scope, at, policy.faults(), owner, out);
  }
  for (json::Member& member : policy.members()) {
    if (member.taken) continue;
    auto dimension = parse_dimension(member.name);
    if (dimension && is_scope_shorthand(dimension->dimension)) {
      read_term(policy, member, std::move(*dimension), owner.written_by_person, out);
    }
  }
  refuse_short_names(policy);
  std::ranges::sort(out, {}, &ScopeTerm::dimension);
}

void write_scope(json::Writer& out, const std::vector<ScopeTerm>& scope) {
  if (scope.empty()) return;
  out.key("scope");
  out.begin_object();
  for (const ScopeTerm& term : scope) {
    if (term.values.size() == 1) {
      out.field(to_string(term.dimension), term.values.front());
      continue;
    }
    out.key(to_string(term.dimension));
    out.texts(term.values);
  }
  out.end_object();
}

}  // namespace sluice
