// The body of a call as a bundle: JSON or YAML in, every fault and warning with its place in what was sent.
//
// Thread safety: none; belongs to its call.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"
#include "common/objects/kind.hpp"
#include "server/admin/call.hpp"
#include "server/admin/yaml.hpp"

namespace sluice::server::admin {

class BundleBody {
 public:
  // Reads the body of the call; it takes seconds where that is large.
  static BundleBody read(Context& context) {
    return context.tx.unhurried([&] { return BundleBody(context.call, context.now_us); });
  }

  // Refuses what is neither JSON nor YAML (400), and a bundle with faults, naming all of them: those of the document,
  // and what only shows when an agent would compile it (422). `call` outlives it.
  BundleBody(const Call& call, std::int64_t now_us);

  // Whether the bundle has a list of this kind, be it an empty one.
  bool lists(Kind kind) const { return listed_[static_cast<std::size_t>(kind)]; }
  bool has_mode() const { return has_mode_; }

  // Gives faults their lines and columns in what was sent.
  void locate(Faults& faults) const;
  [[noreturn]] void refuse(Faults faults) const;  // 422

  Bundle bundle;
  Faults warnings;  // what is allowed and most likely not meant

 private:
  json::Value parse(json::Tree& tree);
  void note_lists(const json::Value& document);

  const Call& call_;
  YamlDocument yaml_;
  std::array<bool, kKinds> listed_{};
  bool has_mode_ = false;
};

}  // namespace sluice::server::admin
