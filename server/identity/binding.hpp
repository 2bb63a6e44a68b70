// Bindings: which scope the agents of a Kubernetes service account get. Reads and writes the documents, and finds the
// binding for a pod.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/tree.hpp"
#include "server/auth/scope_fields.hpp"

namespace sluice::server::identity {

inline constexpr std::string_view kAnyServiceAccount = "*";

namespace binding_field {
using json::Field;
inline constexpr Field kId{.name = "id",
                           .type = Field::Type::text,
                           .max = kMaxIdBytes,
                           .schema = "Id",
                           .always = true,
                           .help =
                               "A body may leave it out: the server takes the id from the path, or makes it from "
                               "`namespace` and `service_account`."};
inline constexpr Field kNamespace{
    .name = "namespace", .type = Field::Type::text, .max = 63, .schema = "Namespace", .always = true};
inline constexpr Field kServiceAccount{.name = "service_account",
                                       .type = Field::Type::text,
                                       .max = 253,
                                       .schema = "ServiceAccount",
                                       .always = true,
                                       .help =
                                           "A Kubernetes service account of that namespace. `*`, the default: every "
                                           "account that has no binding of its own."};
inline constexpr std::array kAll{kId, kNamespace, kServiceAccount, auth::scope_field::kOrganizationId,
                                 auth::scope_field::kTenantIds};
}  // namespace binding_field

struct Binding {
  std::string id;
  std::string namespace_;
  std::string service_account;          // or kAnyServiceAccount
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization

  bool operator==(const Binding&) const = default;
};

// Does not check that the organization and the tenants exist.
Binding read_binding(const json::Value& body, Faults& faults);

std::string write_binding(const Binding& binding);

// If the document has faults, the namespace is "", so the binding matches no pod.
Binding read_stored_binding(std::string_view document);

// At most one binding for each namespace and service account.
class Bindings {
 public:
  void add(Binding binding);

  // Returns the binding for the service account, else the one for all service accounts of the namespace, else nullptr.
  const Binding* find(std::string_view namespace_, std::string_view service_account) const;

  // The last revision that changed a binding of the namespace; 0 if no such revision is known.
  void set_changed_at(std::string namespace_, std::int64_t revision) {
    changed_.insert_or_assign(std::move(namespace_), revision);
  }
  std::int64_t changed_at(std::string_view namespace_) const;

  std::size_t size() const { return by_account_.size(); }
  void for_each(const std::function<void(const Binding&)>& use) const {
    for (const auto& [account, binding] : by_account_) use(binding);
  }
  bool operator==(const Bindings&) const = default;

 private:
  using Account = std::pair<std::string, std::string>;
  std::map<Account, Binding> by_account_;
  std::map<std::string, std::int64_t, std::less<>> changed_;
};

}  // namespace sluice::server::identity
