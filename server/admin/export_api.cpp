// GET /v1/admin/export: writes the stored objects in the caller's scope as a bundle.
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

BundleSelection read_selection(Context& context) {
  BundleSelection selection{.organization_id = std::string(context.call.parameter("organization_id")),
                            .tenant_id = std::string(context.call.parameter("tenant_id"))};
  const std::string_view include = context.call.parameter("include");
  if (!include.empty() && include != "overrides") {
    http::refuse_fault(400, "?include", fmt::format("include must be overrides or left out, not {}", quoted(include)));
  }
  selection.overrides = !include.empty();
  if (!selection.organization_id.empty() &&
      !store::find(context.tx, Kind::organization, "", selection.organization_id)) {
    http::refuse_unknown("organization", selection.organization_id);
  }
  if (selection.tenant_id.empty()) return selection;
  const auto tenant = store::find(context.tx, Kind::tenant, "", selection.tenant_id);
  if (!tenant || (!selection.organization_id.empty() && tenant->organization_id != selection.organization_id)) {
    http::refuse_unknown("tenant", selection.tenant_id);
  }
  selection.organization_id = tenant->organization_id;
  return selection;
}

}  // namespace

Answer export_bundle(Context& context) {
  const BundleSelection selection = read_selection(context);
  const store::Revision revision = store::head(context.tx);
  const std::string tag = fmt::format("\"{}\"", revision.number);
  Answer answer;
  answer.headers = fmt::format("ETag: {}\r\nSluice-Revision: {}\r\n", tag, revision.number);
  if (context.call.if_none_match == tag) {
    answer.status = 304;
    return answer;
  }
  answer.body = bundle_text(context.tx, selection, *context.call.memory);
  return answer;
}

}  // namespace sluice::server::admin
