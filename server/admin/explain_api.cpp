// POST /v1/admin/explain: says which policy would decide a check. The server reads no counters, so the answer does not
// say whether a limit would deny the check.
#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/uncounted_units.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/objects/references.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/selection.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/effective_limits.hpp"
#include "server/admin/object_parts.hpp"
#include "server/admin/tenant_snapshots.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

using policy::Selection;

// `request` points into `text`.
struct ExplainParameters {
  std::string tenant_id;
  std::string key_id;
  std::string text;
  CheckRequest request;
  bool effective = false;  // add the limits in force
};

void read_request(const json::Value& value, ExplainParameters& parameters) {
  json::append(parameters.text, value);
  const auto found = parse_check(parameters.text, parameters.request);
  parameters.request.explain = true;
  if (found.empty()) return;
  Faults faults;
  for (const RequestFault& fault : found) faults.push_back({"/request" + fault.pointer, fault.text});
  http::refuse_faults(found.front().status, std::move(faults));
}

// People send the check itself, without `request` around it.
void refuse_check_fields(json::Fields& fields) {
  for (json::Member& member : fields.members()) {
    if (member.taken || find_check_field(member.name) == nullptr) continue;
    member.taken = true;
    fields.fault(member.name,
                 fmt::format("{0} is a field of the check: move it into request, as in {{\"request\":{{{0}:…}}}}",
                             quoted(member.name)));
  }
}

void read_explain_parameters(Context& context, const json::Value& body, ExplainParameters& parameters) {
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  read_optional_id(fields, "tenant_id");
  parameters.key_id = read_optional_id(fields, "key_id");
  fields.require("request",
                 "a check request as agents take it: {\"subject\":\"user:42\",\"resource\":\"GET:/orders\"}");
  parameters.effective = fields.boolean("effective").value_or(false);
  const json::Value* const request = fields.take("request");
  refuse_check_fields(fields);
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  parameters.tenant_id = body_tenant(context, body, Kind::policy);
  if (parameters.tenant_id.empty())
    http::refuse_fault(422, "/tenant_id", "tenant_id is missing: name the tenant of the policies");
  read_request(*request, parameters);
}

void check_key(Context& context, const ExplainParameters& parameters) {
  if (parameters.key_id.empty()) return;
  const auto key = store::find(context.tx, Kind::key, "", parameters.key_id);
  if (key && key->key.tenant_id == parameters.tenant_id) return;
  http::refuse_fault(422, "/key_id",
                     fmt::format("tenant {} has no key {}", parameters.tenant_id, quoted(parameters.key_id)));
}

// "null" means that the decision depends on counters.
std::string_view allowed_text(const Selection& selection) {
  switch (selection.kind) {
    case Selection::Kind::rulebooks:
      return !selection.enforced() ? "true" : "null";
    case Selection::Kind::settled:
      return selection.settled.allowed ? "true" : "false";
    case Selection::Kind::unknown_plan:
    case Selection::Kind::missing_dimension:
    case Selection::Kind::out_of_time:
      break;
  }
  return "false";
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  json::append_string(out, value);
}

void append_rulebook(std::string& out, const Selection& selection, const policy::TenantView& tenant,
                     const CheckRequest& request) {
  const policy::Rulebook& rulebook = *selection.primary();
  if (rulebook.is_policy) {
    append_text(out, "policy_id", rulebook.owner_id);
    out += fmt::format(R"(,"policy_version":{})", rulebook.version);
  }
  if (!rulebook.plan_id.empty()) append_text(out, "plan_id", rulebook.plan_id);
  append_text(out, "mode", to_string(selection.mode));
  append_text(out, "action", to_string(rulebook.enforcement.action));
  append_text(out, "failure_mode", to_string(rulebook.enforcement.failure_mode));
  if (selection.rulebooks.size() > 1) append_text(out, "shadow_policy_id", selection.rulebooks[1].rulebook->owner_id);
  if (selection.missing != nullptr) append_text(out, "missing", to_string(*selection.missing));
  if (selection.kind != Selection::Kind::rulebooks) return;
  std::vector<std::string> keys;
  policy::counter_keys(tenant.key_head, rulebook, request, keys, selection.rulebooks.front().pattern);
  out += R"(,"counter_keys":[)";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out += ',';
    json::append_string(out, keys[i]);
  }
  out += ']';
}

// A policy may count fewer units than its callers send, so this is no fault.
void append_uncounted_units(std::string& out, const policy::Rulebook& rulebook, const CheckRequest& request) {
  std::vector<std::string_view> counted;
  for (const Limit& limit : rulebook.program->limits) counted.push_back(limit.unit);
  write_uncounted_units(uncounted_units(request.costs, counted), out);
}

std::string answer_of(Context& context, const Selection& selection, const policy::TenantView& tenant,
                      const ExplainParameters& parameters, const store::Revision& revision) {
  std::string out = fmt::format(R"({{"tenant_id":{},"revision":{},"allowed":{},"reason":"{}","shadow":{})",
                                json::string_literal(parameters.tenant_id), revision.number, allowed_text(selection),
                                selection_reason(selection), selection.mode == Mode::shadow);
  if (selection.primary() != nullptr) append_rulebook(out, selection, tenant, parameters.request);
  if (selection.kind == Selection::Kind::rulebooks) {
    append_uncounted_units(out, *selection.primary(), parameters.request);
  }
  if (parameters.effective) {
    append_effective(context, tenant.tenant.organization_id, tenant, parameters.request, selection, out);
  }
  out += ',';
  write_candidates(selection.candidates, out);
  return out += '}';
}

}  // namespace

std::string_view selection_reason(const Selection& selection) {
  switch (selection.kind) {
    case Selection::Kind::rulebooks:
      return !selection.enforced() ? "shadow" : "judged";
    case Selection::Kind::settled:
      return to_string(selection.settled.reason);
    case Selection::Kind::unknown_plan:
      return "unknown_plan";
    case Selection::Kind::missing_dimension:
      return "missing_key";
    case Selection::Kind::out_of_time:  // explanations have no bound
      break;
  }
  return "";
}

Answer explain_request(Context& context) {
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  ExplainParameters parameters;
  read_explain_parameters(context, body, parameters);
  const auto tenant = store::find(context.tx, Kind::tenant, "", parameters.tenant_id);
  if (!tenant) http::refuse_unknown("tenant", parameters.tenant_id);
  check_key(context, parameters);
  const store::Revision revision = store::head(context.tx);
  const auto snapshot = context.snapshots.get(context.tx, *tenant, revision, context.now_us, *context.call.memory);
  const policy::TenantView& view = *snapshot->tenants.find(parameters.tenant_id);
  const Selection selection = policy::select(*snapshot, view, parameters.key_id, parameters.request, context.now_us);
  Answer answer;
  answer.body = answer_of(context, selection, view, parameters, revision);
  return answer;
}

}  // namespace sluice::server::admin
