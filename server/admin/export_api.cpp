// GET /v1/admin/export: writes the stored objects in the caller's scope as a bundle.
#include <stdexcept>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/tree.hpp"
#include "common/yaml/yaml.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/bundle_text.hpp"
#include "server/http/refusal.hpp"
#include "server/http/request_memory.hpp"
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

bool wants_yaml(const Context& context) {
  const std::string_view format = context.call.parameter("format");
  if (!format.empty() && format != "json" && format != "yaml") {
    http::refuse_fault(400, "?format", fmt::format("format must be json or yaml, not {}", quoted(format)));
  }
  return format == "yaml";
}

// Refuses YAML that no reader of Sluice would take.
std::string as_yaml(const std::string& json, http::RequestMemory::Share& memory) {
  memory.raise_to(json.size() + http::weight_of_json(json));
  json::Tree tree;
  const auto document = tree.parse(json);
  if (!document) throw std::logic_error("the stored objects are no JSON: " + document.error().text);
  std::string text = yaml::yaml_of_json(*document);
  if (text.size() <= yaml::kMaxYamlBytes) return text;
  throw http::Refusal(422, "too-large",
                      fmt::format("The bundle would be larger than the {} MiB that YAML may have: export one "
                                  "organization or one tenant at a time, or JSON (without format=yaml).",
                                  yaml::kMaxYamlBytes >> 20));
}

}  // namespace

Answer export_bundle(Context& context) {
  const BundleSelection selection = read_selection(context);
  const bool yaml = wants_yaml(context);
  const store::Revision revision = store::head(context.tx);
  const std::string tag = fmt::format("\"{}{}\"", revision.number, yaml ? "-yaml" : "");
  Answer answer;
  answer.headers = fmt::format("ETag: {}\r\nSluice-Revision: {}\r\n", tag, revision.number);
  if (context.call.if_none_match == tag) {
    answer.status = 304;
    return answer;
  }
  answer.body = bundle_text(context.tx, selection, *context.call.memory);
  if (!yaml) return answer;
  answer.body = as_yaml(answer.body, *context.call.memory);
  answer.content_type = "application/yaml";
  return answer;
}

}  // namespace sluice::server::admin
