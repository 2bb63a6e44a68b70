#include "server/admin/playground_api.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enum_text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/objects/references.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/selection.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/overrides_api.hpp"
#include "server/admin/routes.hpp"
#include "server/admin/tenant_snapshots.hpp"
#include "server/counters/publisher.hpp"
#include "server/http/refusal.hpp"
#include "server/playground/counter_state.hpp"
#include "server/playground/setup.hpp"

namespace sluice::server::admin {
namespace {

using policy::Selection;

constexpr std::size_t kMostShown = 200;  // plans and policies of the public tenant, each

const playground::Setup& require_playground(const playground::Setup* setup) {
  if (setup != nullptr) return *setup;
  throw http::Refusal(503, "no-playground",
                      "This server has no playground: start it with --playground-agent URL, the agent that judges the "
                      "checks, and --playground-key-file FILE, with an API key of each tenant to play with.");
}

// `request` points into `text`.
struct PlaygroundCheck {
  store::StoredObject tenant;
  std::string key;   // the caller's API key; "": the server's
  std::string body;  // the check as JSON
  std::string text;
  CheckRequest request;
};

// What else a check may have (several costs, limits of its own, a wait) is not for the playground.
void refuse_other_fields(const json::Value& request, json::FaultList& faults) {
  const json::Place root;
  const json::Place at = root.member("request");
  for (const json::Member& member : request.members()) {
    if (playground::is_check_field(member.name)) continue;
    faults.add(at, member.name,
               fmt::format("is not for the playground: a check has {} here", playground::kCheckFields));
  }
}

void read_check(const json::Value& request, PlaygroundCheck& check) {
  json::append(check.body, request);
  check.text = check.body;  // parse_check() changes it
  const auto found = parse_check(check.text, check.request);
  if (found.empty()) return;
  Faults faults;
  for (const RequestFault& fault : found) faults.push_back({"/request" + fault.pointer, fault.text});
  http::refuse_faults(found.front().status, std::move(faults));
}

// A visitor's tenant is the public one: it need not be named, and a visitor has no other and brings no key.
void read_playground_body(Context& context, PlaygroundCheck& check) {
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  read_optional_id(fields, "tenant_id");
  if (context.call.route->answered_by_agent && !context.call.route->open)
    check.key = fields.text("key", kMaxKey).value_or("");
  fields.require("request", "a check such as {\"resource\":\"GET:/orders\",\"subject\":\"user:42\",\"cost\":1}");
  const json::Value* const request = fields.take("request");
  if (request != nullptr && request->type() != json::Type::object) {
    fields.fault("request", json::wrong_type_text("request", *request, "an object"));
  } else if (request != nullptr) {
    refuse_other_fields(*request, faults);
  }
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  const std::string tenant_id = body_tenant(context, body, Kind::policy);
  if (tenant_id.empty()) http::refuse_fault(422, "/tenant_id", "tenant_id is missing: name the tenant to play with");
  auto tenant = store::find(context.tx, Kind::tenant, "", tenant_id);
  if (!tenant) http::refuse_unknown("tenant", tenant_id);
  check.tenant = std::move(*tenant);
  read_check(*request, check);
}

bool is_key_of(Context& context, std::string_view key_id, std::string_view tenant_id) {
  const auto key = store::find(context.tx, Kind::key, "", key_id);
  return key && key->key.tenant_id == tenant_id;
}

// The wall between tenants: the agent judges for the tenant of the key, so the key must be of the tenant that the
// caller named, which is in the caller's scope.
std::string key_for(Context& context, const playground::Setup& setup, const PlaygroundCheck& check) {
  const std::string& tenant_id = check.tenant.key.id;
  if (!check.key.empty()) {
    const auto presented = parse_key(check.key);
    if (presented && is_key_of(context, presented->id, tenant_id)) return check.key;
    http::refuse_fault(422, "/key",
                       fmt::format("is not an API key of tenant {}: give one as it was shown when it was made, "
                                   "slk_<id>_<secret>",
                                   tenant_id));
  }
  for (const playground::Key& key : setup.keys) {
    if (is_key_of(context, key.id, tenant_id)) return key.text;
  }
  http::refuse_fault(422, "/key",
                     fmt::format("is missing: the file of --playground-key-file has no API key of tenant {}; put one "
                                 "there and restart the server, or send a key of the tenant",
                                 tenant_id));
}

std::string caller_name(const Context& context) {
  return context.call.route->open ? "address " + context.call.source : "token " + context.principal.token_id;
}

std::string read_state(Context& context, const policy::TenantView& tenant, const Selection& selection,
                       const CheckRequest& request) {
  const policy::Rulebook& rulebook = *selection.primary();
  std::vector<std::string> keys;
  policy::counter_keys(tenant.key_head, rulebook, request, keys, selection.rulebooks.front().pattern);
  const std::array<counters::RedisLink::Request, 1> requests{
      counters::RedisLink::Request{.key = keys.front(), .words = playground::state_command(*rulebook.program, keys)}};
  const auto answers = require_publisher(context).link().commands(requests);
  const auto state = answers.front() ? playground::state_json(*rulebook.program, answers.front()->list) : std::nullopt;
  if (state) return *state;
  throw http::Refusal(503, "counters-unavailable",
                      fmt::format("Redis could not be read ({}); try again.",
                                  answers.front() ? "protocol" : answers.front().error().code),
                      {}, "Retry-After: 1\r\n");
}

// The metadata of plans and policies is not for everybody.
void write_objects(json::Writer& out, Context& context, Kind kind, std::string_view name) {
  const std::vector<store::Filter> filters{{"tenant_id = $", context.principal.tenant_ids.front()}};
  store::Page page;
  page.limit = kMostShown;
  out.key(name);
  out.begin_list();
  const std::vector<store::StoredObject> found = store::list(context.tx, kind, filters, page);
  for (std::size_t i = 0; i < std::min(found.size(), kMostShown); ++i) {
    json::Tree tree;
    std::string document = store::shown_document(kind, found[i].document);
    const auto parsed = tree.parse(document);
    if (!parsed) continue;  // a stored document is JSON
    std::string text;
    json::append(text, json::edited(tree, *parsed, std::array<std::string_view, 1>{"metadata"}));
    out.raw(text);
  }
  out.end_list();
}

}  // namespace

Answer describe_playground(Context& context) {
  const playground::Setup* const setup = context.playground;
  std::vector<std::string> tenants;
  for (std::size_t i = 0; setup != nullptr && i < setup->keys.size(); ++i) {
    const auto key = store::find(context.tx, Kind::key, "", setup->keys[i].id);
    if (key) tenants.push_back(key->key.tenant_id);
  }
  std::ranges::sort(tenants);
  const auto [first, last] = std::ranges::unique(tenants);
  tenants.erase(first, last);
  Answer answer;
  answer.object = open_object();
  answer.object->field("agent", setup != nullptr);
  answer.object->field("counters", context.publisher != nullptr);
  answer.object->key("tenants");
  answer.object->texts(tenants);
  return answer;
}

Answer show_public_playground(Context& context) {
  Answer answer;
  answer.object = open_object();
  answer.object->field("tenant_id", context.principal.tenant_ids.front());
  answer.object->field("counters", context.publisher != nullptr);
  write_objects(*answer.object, context, Kind::plan, "plans");
  write_objects(*answer.object, context, Kind::policy, "policies");
  return answer;
}

Answer check_in_playground(Context& context) {
  const playground::Setup& setup = require_playground(context.playground);
  PlaygroundCheck check;
  read_playground_body(context, check);
  Answer answer;
  answer.agent_check = playground::AgentCheck{
      .caller = caller_name(context), .key = key_for(context, setup, check), .body = std::move(check.body)};
  return answer;
}

Answer read_playground_state(Context& context) {
  require_playground(context.playground);
  require_publisher(context);
  PlaygroundCheck check;
  read_playground_body(context, check);
  const store::Revision revision = store::head(context.tx);
  const auto snapshot = context.snapshots.get(context.tx, check.tenant, revision, context.now_us, *context.call.memory);
  const policy::TenantView& view = *snapshot->tenants.find(check.tenant.key.id);
  const Selection selection = policy::select(*snapshot, view, "", check.request, context.now_us);
  const policy::Rulebook* const rulebook = selection.primary();
  Answer answer;
  answer.object = open_object();
  answer.object->field("tenant_id", check.tenant.key.id);
  answer.object->field("reason", selection_reason(selection));
  if (rulebook != nullptr && rulebook->is_policy) answer.object->field("policy_id", rulebook->owner_id);
  if (rulebook != nullptr) answer.object->optional_field("plan_id", rulebook->plan_id);
  if (rulebook != nullptr) answer.object->field("mode", to_string(selection.mode));
  if (selection.kind == Selection::Kind::rulebooks) {
    answer.object->members_of(read_state(context, view, selection, check.request));
  }
  return answer;
}

auth::Principal enter_as_visitor(postgres::Transaction& tx, const playground::Setup* setup) {
  const std::string& tenant_id = require_playground(setup).public_tenant;
  tx.enter(postgres::Scope::everything("playground"));
  const auto tenant = tenant_id.empty() ? std::nullopt : store::find(tx, Kind::tenant, "", tenant_id);
  if (!tenant) {
    throw http::Refusal(503, "no-playground",
                        fmt::format("The tenant {} of --playground does not exist.", quoted(tenant_id)));
  }
  auth::Principal visitor{.token_id = "playground",
                          .name = "playground",
                          .role = auth::Role::auditor,
                          .organization_id = tenant->organization_id,
                          .tenant_ids = {tenant_id}};
  tx.enter(visitor.scope());
  return visitor;
}

}  // namespace sluice::server::admin
