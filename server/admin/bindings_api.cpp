#include "server/admin/bindings_api.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/admin/scope_check.hpp"
#include "server/http/refusal.hpp"
#include "server/identity/binding.hpp"

namespace sluice::server::admin {
namespace {

// For example "shop-checkout", or "shop" if the service account is "*" (the whole namespace).
std::string binding_id(postgres::Transaction& tx, std::string_view, const json::Value& body) {
  return unique_id(tx, Kind::binding, "",
                   fmt::format("{} {}", body.text_of("namespace"), body.text_of("service_account")));
}

// Refuses a second binding for one service account.
void check_free(postgres::Transaction& tx, const identity::Binding& binding) {
  const pqxx::result rows =
      tx.exec("SELECT id FROM bindings WHERE namespace = $1 AND service_account = $2 AND id <> $3", binding.namespace_,
              binding.service_account, binding.id);
  if (rows.empty()) return;
  const std::string text =
      fmt::format("binding {} already exists for service account {} of namespace {}: change or delete it",
                  quoted(rows[0][0].c_str()), quoted(binding.service_account), quoted(binding.namespace_));
  throw http::Refusal(409, "exists", text, {{"/service_account", text}});
}

Draft draft_binding(postgres::Transaction& tx, const json::Value& body) {
  Faults faults;
  identity::Binding binding = identity::read_binding(body, faults);
  check_scope(tx, body, binding.organization_id, binding.tenant_ids, faults);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  check_free(tx, binding);
  return {.key = {Kind::binding, "", binding.id},
          .organization_id = binding.organization_id,
          .document = identity::write_binding(binding),
          .extra = {},
          .warnings = {}};
}

}  // namespace

const Resource kBindings{Kind::binding, "/v1/admin/bindings", &draft_binding, &binding_id};

}  // namespace sluice::server::admin
