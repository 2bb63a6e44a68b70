// POST /v1/admin/validate: checks a body as if it were stored, and stores nothing.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/http/problem.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/references.hpp"
#include "server/admin/answers.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/bundle_body.hpp"
#include "server/admin/keys_api.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/plan_budget.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

Answer valid(std::string_view canonical, const Faults& warnings) {
  std::string faults;
  sluice::http::write_faults(warnings, faults);
  Answer answer;
  answer.object = open_object();
  answer.object->field("valid", true);
  answer.object->key("canonical");
  answer.object->raw(canonical);
  answer.object->key("warnings");
  answer.object->raw(faults);
  return answer;
}

Answer validate_bundle(Context& context) {
  const BundleBody body = BundleBody::read(context);
  if (Faults over = plan_budget_faults(context.tx, body.bundle); !over.empty()) body.refuse(std::move(over));
  return valid(write_bundle(body.bundle), body.warnings);
}

const Resource* resource_of(std::string_view kind) {
  for (const Resource* known : {&kPlans, &kPolicies, &kTenants, &kOrganizations, &kKeys}) {
    if (info(known->kind).name == kind) return known;
  }
  return nullptr;
}

struct ValidateParameters {
  const Resource* resource = nullptr;
  json::Value object;
  std::string tenant_id;
};

ValidateParameters read_validate_parameters(Context& context, const json::Value& body) {
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  read_optional_id(fields, "tenant_id");
  fields.require("kind", "the kind of the object: plan, policy, tenant, organization or key");
  fields.require("object", "the object to check; to check a bundle, send it as the whole body, with its member format");
  ValidateParameters parameters;
  if (const auto kind = fields.text("kind", 64)) {
    parameters.resource = resource_of(*kind);
    if (parameters.resource == nullptr) {
      fields.fault(
          "kind", fmt::format("{} is not a kind; there are plan, policy, tenant, organization and key", quoted(*kind)));
    }
  }
  if (const json::Value* const object = fields.take("object")) {
    parameters.object = *object;
    if (object->type() != json::Type::object)
      fields.fault("object", json::wrong_type_text("object", *object, "an object"));
  }
  fields.reject_unknown();
  if (faults.count() > 0) http::refuse_faults(422, faults.take());
  parameters.tenant_id = body_tenant(context, body, parameters.resource->kind);
  if (parameters.tenant_id.empty())
    parameters.tenant_id = body_tenant(context, parameters.object, parameters.resource->kind);
  return parameters;
}

// Answers with the document that would be stored if the object were created or replaced. The answer for a new API key
// has no hash, because nobody gets the secret.
Answer canonical_answer(Context& context, json::Tree& tree, const ValidateParameters& parameters) {
  const Kind kind = parameters.resource->kind;
  std::optional<Secret> secret;
  const Draft made =
      checked_draft(context, tree, *parameters.resource, parameters.object, parameters.tenant_id, secret);
  if (!secret) return valid(store::shown_document(kind, made.document), made.warnings);
  static constexpr std::array<std::string_view, 1> kMade{"key_hash"};
  std::string shown;
  json::append(shown, json::edited(tree, tree.parse(made.document).value(), kMade));
  return valid(shown, made.warnings);
}

Answer validate_object(Context& context, json::Tree& tree, const json::Value& body) {
  const ValidateParameters parameters = read_validate_parameters(context, body);
  try {
    return canonical_answer(context, tree, parameters);
  } catch (http::Refusal& refusal) {
    for (Fault& fault : refusal.faults) {
      if (!fault.pointer.starts_with('?')) fault.pointer.insert(0, "/object");
    }
    throw;
  }
}

}  // namespace

Draft checked_draft(Context& context, json::Tree& tree, const Resource& resource, const json::Value& object,
                    const std::string& tenant_id, std::optional<Secret>& secret) {
  Remarks remarks;
  const json::Value read = resource.translate == nullptr ? object : resource.translate(context, tree, object, remarks);
  if (!remarks.faults.empty()) http::refuse_faults(422, std::move(remarks.faults));
  const std::string id =
      is_given(read, "id") ? std::string(read.text_of("id")) : resource.make_id(context.tx, tenant_id, read);
  json::Value body = with_ids(tree, read, resource.kind, tenant_id, id);
  if (resource.complete != nullptr) {
    const auto before = store::find(context.tx, resource.kind, tenant_id, id);
    body = resource.complete(context, tree, body, before ? &*before : nullptr, secret, remarks);
    if (!remarks.faults.empty()) http::refuse_faults(422, std::move(remarks.faults));
  }
  Draft made = resource.draft(context.tx, body);
  std::ranges::move(remarks.warnings, std::back_inserter(made.warnings));
  return made;
}

Answer validate_body(Context& context) {
  if (context.call.yaml) return validate_bundle(context);
  {
    json::Tree tree;
    const json::Value body = read_body(context.call, tree);
    if (body.find("format") == nullptr) return validate_object(context, tree, body);
  }
  return validate_bundle(context);
}

}  // namespace sluice::server::admin
