#include "server/counters/rules.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/override_json.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/match_expr.hpp"

namespace sluice::server::counters {
namespace {

[[noreturn]] void fail(const Faults& faults) {
  throw RulesFault(fmt::format("what is stored does not compile: {}: {}", faults.front().pointer, faults.front().text));
}

// ":p=orders" or ":l=pro" behind the hash tag of a counter's key; identities have their braces escaped.
std::pair<char, std::string> owner_in(std::string_view state_key) {
  const std::string_view tail = state_key.substr(state_key.find('}') + 1);
  return {tail[1], std::string(tail.substr(3, tail.find(':', 1) - 3))};
}

}  // namespace

Rules::Rules(Bundle bundle, std::int64_t now_us) : bundle_(std::move(bundle)) {
  auto built = policy::build_snapshot(bundle_, 0, now_us);
  if (!built) fail(built.error());
  snapshot_ = std::move(*built);
  tenant_ = snapshot_->tenants.find(bundle_.tenants.front().id);
}

CounterRef Rules::ref_of(const policy::KeyOverrides& overrides) const {
  const Override& source = bundle_.overrides[overrides.source];
  const auto [kind, owner] = owner_in(overrides.state_key);
  const bool is_policy = kind == 'p';
  return {.organization_id = tenant_->tenant.organization_id,
          .tenant_id = tenant_->tenant.id,
          .policy_id = is_policy ? owner : "",
          .plan_id = is_policy ? tenant_->policies.find(owner)->rulebook.plan_id : owner,
          .identity = identity_text(source),
          .state_key = overrides.state_key};
}

const policy::Rulebook* Rules::find(std::string_view policy_id, std::string_view plan_id) const {
  if (!policy_id.empty()) {
    const policy::CompiledPolicy* found = tenant_->policies.find(policy_id);
    return found == nullptr ? nullptr : &found->rulebook;
  }
  return tenant_->find_plan(plan_id);
}

std::string Rules::key_of(const policy::Rulebook& rulebook, std::size_t group, const Identity& identity) const {
  return policy::counter_key(tenant_->key_head, rulebook, group, identity);
}

void RulesDraft::add_override(const std::string& document) {
  const std::string policy_id = member_of(document, "policy_id");
  const bool known =
      policy_id.empty() ? plans_.contains(member_of(document, "plan_id")) : policies_.contains(policy_id);
  if (known) overrides_.push_back(document);
}

Rules RulesDraft::compile(std::int64_t now_us) const {
  std::string text = fmt::format(
      R"({{"format":"sluice/v1","organizations":[{{"id":"{0}"}}],"tenants":[{{"id":"{1}","organization_id":"{0}"}}])",
      organization_id_, tenant_id_);
  const auto list = [&text](std::string_view name, const auto& documents, auto document_of) {
    text += fmt::format(R"(,"{}":[)", name);
    bool first = true;
    for (const auto& item : documents) {
      if (!first) text += ',';
      first = false;
      text += document_of(item);
    }
    text += ']';
  };
  const auto second = [](const auto& item) -> const std::string& { return item.second; };
  list("plans", plans_, second);
  list("policies", policies_, second);
  list("overrides", overrides_, [](const std::string& document) -> const std::string& { return document; });
  auto bundle = parse_bundle(text += '}', &policy::check_expression);
  if (!bundle) fail(bundle.error());
  return {std::move(*bundle), now_us};
}

std::string member_of(const std::string& document, std::string_view name) {
  json::Tree tree;
  const auto value = tree.parse(document);
  const json::Value* const found = value ? value->find(name) : nullptr;
  return found != nullptr && found->type() == json::Type::string ? std::string(found->text()) : std::string();
}

std::string identity_text(const Override& item) {
  json::Writer out(json::Writer::Layout::compact);
  write_identity(out, item);
  return out.take();
}

Identity parse_identity(const std::string& text) {
  json::Tree tree;
  const auto value = tree.parse(text);
  if (!value || value->type() != json::Type::object) throw RulesFault("an identity is an object");
  Identity identity;
  for (const json::Member& member : value->members()) {
    const auto dimension = parse_dimension(member.name);
    if (!dimension) throw RulesFault("an identity has dimensions");
    if (member.value.type() == json::Type::string) identity.emplace_back(*dimension, member.value.text());
  }
  return identity;
}

}  // namespace sluice::server::counters
