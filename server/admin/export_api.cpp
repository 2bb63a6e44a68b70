// GET /v1/admin/export: writes the stored objects of a scope as a bundle.
#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/bundle_text.hpp"
#include "server/http/refusal.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {
namespace {

BundlePart read_selection(Context& context) {
  BundlePart chosen{.organization_id = std::string(context.call.parameter("organization_id")),
                    .tenant_id = std::string(context.call.parameter("tenant_id"))};
  const std::string_view include = context.call.parameter("include");
  if (!include.empty() && include != "overrides") {
    http::refuse_fault(400, "?include", fmt::format("include is overrides, or left out, not {}", quoted(include)));
  }
  chosen.overrides = !include.empty();
  if (!chosen.organization_id.empty() && !store::find(context.tx, Kind::organization, "", chosen.organization_id)) {
    http::refuse_unknown("organization", chosen.organization_id);
  }
  if (chosen.tenant_id.empty()) return chosen;
  const auto tenant = store::find(context.tx, Kind::tenant, "", chosen.tenant_id);
  if (!tenant || (!chosen.organization_id.empty() && tenant->organization_id != chosen.organization_id)) {
    http::refuse_unknown("tenant", chosen.tenant_id);
  }
  chosen.organization_id = tenant->organization_id;
  return chosen;
}

}  // namespace

Answer export_bundle(Context& context) {
  const BundlePart chosen = read_selection(context);
  const store::Revision revision = store::head(context.tx);
  const std::string tag = fmt::format("\"{}\"", revision.number);
  Answer answer;
  answer.headers = fmt::format("ETag: {}\r\nSluice-Revision: {}\r\n", tag, revision.number);
  if (context.call.if_none_match == tag) {
    answer.status = 304;
    return answer;
  }
  answer.body = bundle_text(context.tx, chosen);
  return answer;
}

}  // namespace sluice::server::admin
