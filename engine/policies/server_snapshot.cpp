#include "engine/policies/server_snapshot.hpp"

#include <utility>
#include <vector>

#include "common/policy/match_expr.hpp"
#include "common/policy/snapshot_delta.hpp"

namespace sluice::policies {
namespace {

bool is_small_change(const sync::Applied& applied) {
  return applied.changes.size() * 4 <= applied.state.objects.size();
}

std::uint64_t revision_of(const sync::Position& head) { return static_cast<std::uint64_t>(head.revision); }

CompiledState compiled(const std::expected<Bundle, Faults>& bundle, const sync::Position& head, std::int64_t now_us) {
  if (!bundle) return std::unexpected(bundle.error());
  return policy::build_snapshot(*bundle, revision_of(head), now_us, head.chain);
}

std::expected<policy::SnapshotDelta, Faults> delta_of(const sync::Applied& applied, sync::NewerFields& newer) {
  policy::SnapshotDelta delta;
  std::vector<sync::ObjectPtr> wanted;
  bool settings = false;
  for (const sync::ObjectChange& change : applied.changes) {
    const ObjectIdView id = change.id();
    if (id.kind == Kind::setting) {
      settings = true;
    } else if (change.after) {
      wanted.push_back(change.after);
    } else {
      delta.removed.push_back({id.kind, std::string(id.tenant_id), std::string(id.id)});
    }
  }
  auto objects = sync::to_bundle_part(applied.state.objects, wanted, &policy::check_expression, &newer);
  if (!objects) return std::unexpected(std::move(objects.error()));
  if (settings) delta.mode = objects->mode;
  delta.objects = *std::move(objects);
  return delta;
}

}  // namespace

CompiledState compile_full(const sync::ScopeState& state, std::int64_t now_us, sync::NewerFields& newer) {
  return compiled(sync::to_bundle(state.objects, &policy::check_expression, &newer), state.head, now_us);
}

CompiledState compile_saved(const sync::SavedState& state, std::int64_t now_us, sync::NewerFields& newer) {
  return compiled(sync::to_bundle(state.objects, &policy::check_expression, &newer), state.head, now_us);
}

CompiledState compile_next(const policy::Snapshot& before, const sync::Applied& applied, std::int64_t now_us,
                           sync::NewerFields& newer) {
  if (is_small_change(applied)) {
    if (const auto delta = delta_of(applied, newer)) {
      auto next =
          policy::next_snapshot(before, *delta, revision_of(applied.state.head), now_us, applied.state.head.chain);
      if (next) return next;
    }
  }
  newer.clear();
  return compile_full(applied.state, now_us, newer);
}

}  // namespace sluice::policies
