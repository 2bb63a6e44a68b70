// Reads the body of a call, JSON or YAML, as a bundle. Every fault and warning gets its line and column in the body.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"
#include "common/objects/kind.hpp"
#include "common/objects/object_id.hpp"
#include "common/yaml/yaml.hpp"
#include "server/admin/call.hpp"

namespace sluice::server::admin {

class BundleBody {
 public:
  // A large body takes seconds; meanwhile PostgreSQL must not end the idle session.
  static BundleBody read(Context& context) {
    return context.tx.without_idle_timeout([&] { return BundleBody(context); });
  }

  // Refuses a body that is neither JSON nor YAML (400), and a bundle that cannot be read or compiled (422). Objects may
  // belong to stored tenants that the body does not list; `bundle` then has these tenants too, as they are stored, and
  // without an organization. REQUIRES: the context's call outlives this object.
  explicit BundleBody(Context& context);

  // Whether the bundle has a list of this kind, even an empty one.
  bool has_list(Kind kind) const { return listed_[static_cast<std::size_t>(kind)]; }
  bool has_mode() const { return has_mode_; }
  // The plans or policies without `require_key_by`, as positions in the bundle's list, ascending.
  const std::vector<std::size_t>& without_requirement(Kind kind) const {
    return without_requirement_[static_cast<std::size_t>(kind)];
  }

  // The JSON pointer to an object that the bundle lists.
  std::string pointer_to(const ObjectId& key) const;
  // Adds line and column in the body.
  void locate(Faults& faults) const;
  [[noreturn]] void refuse(Faults faults) const;  // 422

  Bundle bundle;
  Faults warnings;

 private:
  json::Value parse(json::Tree& tree);
  void record_lists(const json::Value& document);

  const Call& call_;
  yaml::YamlDocument yaml_;
  std::array<bool, kKinds> listed_{};
  std::array<std::vector<std::size_t>, kKinds> without_requirement_;
  bool has_mode_ = false;
};

}  // namespace sluice::server::admin
