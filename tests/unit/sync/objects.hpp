// Objects for tests, and sets of them made the plain way.
#pragma once

#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/sync/object_set.hpp"

namespace sluice::sync {

inline const std::string kChainA(64, 'a');
inline const std::string kChainB(64, 'b');

inline ObjectPtr settings(std::string_view mode) {
  return make_object({Kind::setting, "", ""}, fmt::format(R"({{"mode":"{}"}})", mode));
}
inline ObjectPtr organization(std::string_view id) {
  return make_object({Kind::organization, "", id}, fmt::format(R"({{"id":"{}","name":"The {}"}})", id, id));
}
inline ObjectPtr tenant(std::string_view id, std::string_view organization_id) {
  return make_object({Kind::tenant, "", id},
                     fmt::format(R"({{"id":"{}","organization_id":"{}"}})", id, organization_id));
}
inline ObjectPtr plan(std::string_view tenant_id, std::string_view id, int limit = 5) {
  return make_object({Kind::plan, tenant_id, id},
                     fmt::format(R"({{"tenant_id":"{}","id":"{}","limits":[{{"name":"n","algorithm":"fixed_window",)"
                                 R"("limit":{},"window":"10s"}}]}})",
                                 tenant_id, id, limit));
}
inline ObjectPtr policy(std::string_view tenant_id, std::string_view id, std::string_view plan_id,
                        std::string_view resource = "x") {
  return make_object({Kind::policy, tenant_id, id},
                     fmt::format(R"({{"tenant_id":"{}","id":"{}","scope":{{"resource":["{}"]}},"plan_id":"{}"}})",
                                 tenant_id, id, resource, plan_id));
}
inline ObjectPtr key(std::string_view tenant_id, std::string_view id) {
  return make_object(
      {Kind::key, tenant_id, id},
      fmt::format(R"({{"tenant_id":"{}","id":"{}","key_hash":"sha256:{:0>32}:{:0>64}"}})", tenant_id, id, "1", "2"));
}

inline ObjectSet set_of(const std::vector<ObjectPtr>& objects) {
  return ObjectSet().with(std::vector<Edit>(objects.begin(), objects.end()));
}

// Everything a tenant needs, as a small installation has it.
inline std::vector<ObjectPtr> small_shop() {
  return {settings("shadow"),
          organization("acme"),
          tenant("shop", "acme"),
          plan("shop", "pro"),
          policy("shop", "orders", "pro"),
          key("shop", "k1")};
}

inline std::vector<ObjectPtr> objects_of(const ObjectSet& set) {
  std::vector<ObjectPtr> objects;
  set.for_each([&](const ObjectPtr& object) { objects.push_back(object); });
  return objects;
}

}  // namespace sluice::sync
