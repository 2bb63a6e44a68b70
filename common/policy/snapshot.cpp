#include "common/policy/snapshot.hpp"

#include <utility>

#include "common/policy/snapshot_builder.hpp"
#include "common/policy/snapshot_delta.hpp"
#include "common/policy/snapshot_overrides.hpp"

namespace sluice::policy {
namespace {

using Built = std::expected<std::shared_ptr<const Snapshot>, Faults>;

Built named(std::expected<Snapshot, Faults> built, std::uint64_t revision, std::string chain) {
  if (!built) return std::unexpected(std::move(built.error()));
  built->revision = revision;
  built->chain = std::move(chain);
  return std::make_shared<const Snapshot>(std::move(*built));
}

}  // namespace

Built build_snapshot(const Bundle& bundle, std::uint64_t revision, std::int64_t now_us, std::string chain) {
  const Snapshot nothing{};
  SnapshotBuilder builder(nothing, bundle, {}, SnapshotBuilder::Pointers::by_place, now_us);
  builder.set_mode(bundle.mode);
  auto built = builder.build();
  if (built) built->overrides = compile_overrides(bundle, *built);
  return named(std::move(built), revision, std::move(chain));
}

Built next_snapshot(const Snapshot& before, const SnapshotDelta& delta, std::uint64_t revision, std::int64_t now_us,
                    std::string chain) {
  SnapshotBuilder builder(before, delta.objects, delta.removed, SnapshotBuilder::Pointers::by_name, now_us);
  if (delta.mode) builder.set_mode(*delta.mode);
  return named(builder.build(), revision, std::move(chain));
}

}  // namespace sluice::policy
