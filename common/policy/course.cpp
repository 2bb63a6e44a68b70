#include "common/policy/course.hpp"

#include <vector>

#include "common/policy/explain.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy {
namespace {

void set(CheckRequest& request, Dimension dimension, std::string_view text) {
  if (!text.empty()) request.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
}

// The first dimension that the counter requires and the request lacks; "" for none.
std::string missing_dimension(const Rulebook& rulebook, const CheckRequest& request) {
  if (!rulebook.enforcement.require_key_by) return {};
  for (const DimensionRef& dimension : rulebook.enforcement.key_by) {
    if (!request.find(dimension)) return to_string(dimension);
  }
  return {};
}

}  // namespace

Course choose_course(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id, CheckRequest& request,
                     std::int64_t now_us) {
  set(request, Dimension::org, tenant.tenant.organization_id);
  set(request, Dimension::tenant, tenant.tenant.id);
  set(request, Dimension::api_key, key_id);

  Course course;
  if (!request.plan_id.empty()) {
    const Rulebook* plan = tenant.find_plan(request.plan_id);
    course.kind = Course::Kind::unknown_plan;
    if (!plan || !tenant.tenant.plan_calls) return course;
    course.deciding = plan;
  } else {
    std::vector<Candidate> all;
    Match found = match(snapshot, tenant, request, now_us, request.explain ? &all : nullptr);
    if (request.explain) course.candidates = explain(found, all, request);
    if (!found.decides && !found.shadow) return course;
    course.deciding = found.decides ? &found.decides->rulebook : &found.shadow->rulebook;
    if (found.decides && found.shadow) course.shadow = &found.shadow->rulebook;
  }
  const Mode mode = effective_mode(snapshot.mode, tenant.tenant.mode, course.deciding->enforcement.mode);
  course.mode = mode;
  course.kind = mode == Mode::off ? Course::Kind::mode_off : Course::Kind::judge;
  course.deciding_is_shadow = mode == Mode::shadow;
  if (course.kind == Course::Kind::mode_off) course.shadow = nullptr;
  // A shadow never refuses: where only shadows apply, what is absent is a value of its own.
  if (course.kind == Course::Kind::judge && !course.deciding_is_shadow) {
    course.missing = missing_dimension(*course.deciding, request);
    if (!course.missing.empty()) course.kind = Course::Kind::missing_key;
  }
  return course;
}

}  // namespace sluice::policy
