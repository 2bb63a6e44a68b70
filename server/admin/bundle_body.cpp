#include "server/admin/bundle_body.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/fault_place.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/snapshot.hpp"
#include "common/policy/warnings.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {

BundleBody::BundleBody(const Call& call, std::int64_t now_us) : call_(call) {
  {
    json::Tree tree;  // large, so it is freed before the bundle is compiled
    const json::Value document = parse(tree);
    record_lists(document);
    auto read = read_written_bundle(document, &policy::check_expression, warnings);
    if (!read) refuse(std::move(read.error()));
    bundle = std::move(*read);
  }
  if (auto built = policy::build_snapshot(bundle, 0, now_us); !built) refuse(std::move(built.error()));
  std::ranges::move(policy::warnings(bundle), std::back_inserter(warnings));
  locate(warnings);
}

json::Value BundleBody::parse(json::Tree& tree) {
  if (call_.yaml) {
    auto converted = json_of_yaml(call_.body);
    if (!converted) http::refuse_faults(400, {std::move(converted.error())});
    yaml_ = std::move(*converted);
    call_.memory->raise_to(http::weight_of_yaml(call_.body) + http::weight_of_json(yaml_.json));
  }
  const auto document = tree.parse(call_.yaml ? yaml_.json : call_.body);
  if (!document) {
    Faults faults{document.error()};
    if (call_.yaml) yaml_.locate(faults);
    http::refuse_faults(400, std::move(faults));
  }
  return *document;
}

void BundleBody::record_lists(const json::Value& document) {
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    listed_[static_cast<std::size_t>(kind)] = document.get(info(kind).plural).type() == json::Type::array;
  }
  has_mode_ = document.get("mode").type() != json::Type::null;
}

std::string BundleBody::pointer_to(const ObjectId& key) const {
  const BundleListAccess& access = list_access(key.kind);
  std::size_t index = 0;
  while (access.id(bundle, index) != key.view()) ++index;
  return fmt::format("/{}/{}", info(key.kind).plural, index);
}

void BundleBody::locate(Faults& faults) const {
  if (call_.yaml) {
    yaml_.locate(faults);
  } else {
    json::locate_faults(call_.body, faults);
  }
}

void BundleBody::refuse(Faults faults) const {
  locate(faults);
  http::refuse_faults(422, std::move(faults));
}

}  // namespace sluice::server::admin
