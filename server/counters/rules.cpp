#include "server/counters/rules.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_builder.hpp"
#include "common/objects/override_json.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/match_expr.hpp"

namespace sluice::server::counters {
namespace {

[[noreturn]] void fail(const Faults& faults) {
  throw RulesFault(fmt::format("stored documents do not compile: {}: {}", faults.front().pointer, faults.front().text));
}

// Reads the policy ('p') or plan ('l') from a counter key, in which ":p=orders" or ":l=pro" follows the hash tag. The
// first '}' ends the hash tag, because braces of an identity are escaped.
std::pair<char, std::string> owner_in(std::string_view counter_key) {
  const std::string_view tail = counter_key.substr(counter_key.find('}') + 1);
  return {tail[1], std::string(tail.substr(3, tail.find(':', 1) - 3))};
}

}  // namespace

Rules::Rules(RulesSources sources, Bundle bundle, std::shared_ptr<const policy::Snapshot> snapshot, std::int64_t now_us)
    : sources_(std::move(sources)), bundle_(std::move(bundle)), snapshot_(std::move(snapshot)), compiled_us_(now_us) {
  tenant_ = snapshot_->tenants.find(sources_.tenant_id);
}

bool Rules::same_as(const RulesSources& sources, std::int64_t now_us) const {
  if (sources != sources_) return false;
  return std::ranges::none_of(bundle_.overrides, [&](const Override& item) {
    if (!item.expires_at) return false;
    const std::int64_t end_us = item.expires_at->time_since_epoch().count();
    return end_us > compiled_us_ && end_us <= now_us;
  });
}

CounterRef Rules::ref_of(const policy::KeyOverrides& overrides) const {
  const Override& source = bundle_.overrides[overrides.source];
  const auto [kind, owner] = owner_in(overrides.counter_key);
  const bool is_policy = kind == 'p';
  return {.organization_id = tenant_->tenant.organization_id,
          .tenant_id = tenant_->tenant.id,
          .policy_id = is_policy ? owner : "",
          .plan_id = is_policy ? tenant_->policies.find(owner)->rulebook.plan_id : owner,
          .identity = identity_text(source),
          .counter_key = overrides.counter_key};
}

const policy::Rulebook* Rules::find(std::string_view policy_id, std::string_view plan_id) const {
  if (!policy_id.empty()) {
    const policy::CompiledPolicy* found = tenant_->policies.find(policy_id);
    return found == nullptr ? nullptr : &found->rulebook;
  }
  return tenant_->find_plan(plan_id);
}

std::string Rules::key_of(const policy::Rulebook& rulebook, std::size_t group, const Identity& identity) const {
  return policy::counter_key(tenant_->key_head, rulebook, group, identity, tenant_->tenant.slash());
}

RulesBuilder::RulesBuilder(std::string organization_id, std::string tenant_id, TrailingSlash trailing_slash) {
  sources_.organization_id = std::move(organization_id);
  sources_.tenant_id = std::move(tenant_id);
  sources_.trailing_slash = trailing_slash;
}

void RulesBuilder::add_override(const std::string& id, const std::string& document) {
  const std::string policy_id = member_of(document, "policy_id");
  const bool has_owner = policy_id.empty() ? sources_.plans.contains(member_of(document, "plan_id"))
                                           : sources_.policies.contains(policy_id);
  if (has_owner) sources_.overrides.try_emplace(id, document);
}

RulesPtr RulesBuilder::build(std::int64_t now_us, std::span<const RulesPtr> known) const {
  for (const RulesPtr& rules : known) {
    if (rules->same_as(sources_, now_us)) return rules;
  }
  BundleBuilder builder(&policy::check_expression);
  json::Tree tree;
  const auto read = [&](Kind kind, const std::string& document) {
    const auto value = tree.parse(document);
    if (!value) throw RulesFault(fmt::format("a stored {} is not JSON: {}", info(kind).name, value.error().text));
    const json::Place root;
    const json::Place at = root.member(info(kind).plural);
    builder.read(kind, *value, at);
    tree.clear();
  };
  builder.expect(Kind::tenant, 1);
  read(Kind::organization, fmt::format(R"({{"id":"{}"}})", sources_.organization_id));
  read(Kind::tenant, fmt::format(R"({{"id":"{}","organization_id":"{}","trailing_slash":"{}"}})", sources_.tenant_id,
                                 sources_.organization_id, to_string(sources_.trailing_slash)));
  for (const auto& [id, document] : sources_.plans) read(Kind::plan, document);
  for (const auto& [id, document] : sources_.policies) read(Kind::policy, document);
  for (const auto& [id, document] : sources_.overrides) read(Kind::override_, document);
  if (builder.faults().count() != 0) fail(builder.faults().take());
  Bundle bundle = builder.take();
  auto snapshot = policy::build_snapshot(bundle, 0, now_us);
  if (!snapshot) fail(snapshot.error());
  return std::make_shared<const Rules>(sources_, std::move(bundle), std::move(*snapshot), now_us);
}

TrailingSlash trailing_slash_of(const std::string& tenant_document) {
  return parse_trailing_slash(member_of(tenant_document, "trailing_slash")).value_or(TrailingSlash::distinct);
}

std::string member_of(const std::string& document, std::string_view name) {
  json::Tree tree;
  return std::string(tree.parse(document).value_or(json::Value()).text_of(name));
}

std::string identity_text(const Override& item) {
  json::Writer out(json::Writer::Layout::compact);
  write_identity(out, item);
  return out.take();
}

Identity parse_identity(const std::string& text) {
  json::Tree tree;
  const auto value = tree.parse(text);
  if (!value || value->type() != json::Type::object) throw RulesFault("a stored identity is not a JSON object");
  Identity identity;
  for (const json::Member& member : value->members()) {
    const auto dimension = parse_dimension(member.name);
    if (!dimension) throw RulesFault("a stored identity names an unknown dimension");
    if (member.value.type() == json::Type::string) identity.emplace_back(*dimension, member.value.text());
  }
  return identity;
}

}  // namespace sluice::server::counters
