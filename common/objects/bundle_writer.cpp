// Writes the canonical form of a bundle, without defaults except `require_key_by`.
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/objects/policy_json.hpp"

namespace sluice {
namespace {

void write_shown(json::Writer& out, const Bundle& bundle, Kind kind, std::size_t index) {
  if (kind == Kind::plan) return write_plan(out, bundle.plans[index], Form::shown);
  if (kind == Kind::policy) return write_policy(out, bundle.policies[index], Form::shown);
  list_access(kind).write(out, bundle, index);
}

}  // namespace

std::string write_bundle(const Bundle& bundle) {
  json::Writer out;
  out.begin_object();
  out.field("format", "sluice/v1");
  if (bundle.mode != Mode::enforce) out.field("mode", to_string(bundle.mode));
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    const std::size_t objects = list_access(kind).size(bundle);
    if (objects == 0) continue;
    out.key(info(kind).plural);
    out.begin_list();
    for (std::size_t i = 0; i < objects; ++i) write_shown(out, bundle, kind, i);
    out.end_list();
  }
  out.end_object();
  return out.take() + '\n';
}

}  // namespace sluice
