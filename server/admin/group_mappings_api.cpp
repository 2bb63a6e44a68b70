#include "server/admin/group_mappings_api.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "server/admin/scope_check.hpp"
#include "server/auth/group_mapping.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

// For example "sre-team" from "SRE team".
std::string mapping_id(postgres::Transaction& tx, std::string_view, const json::Value& body) {
  return unique_id(tx, Kind::group_mapping, "", body.text_of("group"));
}

// Refuses a second mapping for one group: which of them counts should not need an explanation.
void check_free(postgres::Transaction& tx, const auth::GroupMapping& mapping) {
  const pqxx::result rows =
      tx.exec("SELECT id FROM group_mappings WHERE group_name = $1 AND id <> $2", mapping.group, mapping.id);
  if (rows.empty()) return;
  const std::string text = fmt::format("group mapping {} already exists for the group {}: change or delete it",
                                       quoted(rows[0][0].c_str()), quoted(mapping.group));
  throw http::Refusal(409, "exists", text, {{"/group", text}});
}

Draft draft_mapping(postgres::Transaction& tx, const json::Value& body) {
  Faults faults;
  auth::GroupMapping mapping = auth::read_group_mapping(body, faults);
  check_scope(tx, body, mapping.organization_id, mapping.tenant_ids, faults);
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  check_free(tx, mapping);
  return {.key = {Kind::group_mapping, "", mapping.id},
          .organization_id = mapping.organization_id,
          .document = auth::write_group_mapping(mapping),
          .extra = {},
          .warnings = {}};
}

}  // namespace

const Resource kGroupMappings{Kind::group_mapping, "/v1/admin/group-mappings", &draft_mapping, &mapping_id};

}  // namespace sluice::server::admin
