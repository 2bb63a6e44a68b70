// Bindings: whose policies the agents of a Kubernetes service account get. The document, and which one is a pod's.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::identity {

inline constexpr std::string_view kAnyServiceAccount = "*";

struct Binding {
  std::string id;
  std::string namespace_;
  std::string service_account;          // or kAnyServiceAccount
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // none: all of the organization; sorted

  bool operator==(const Binding&) const = default;
};

// Adds every fault of form to `faults`; whether what it names exists is for the caller to check.
Binding read_binding(const json::Value& body, Faults& faults);

// Canonical, compact.
std::string write_binding(const Binding& binding);

// Of a row. One whose document cannot be read is nobody's: its namespace is "".
Binding stored_binding(std::string_view document);

// All there are, by namespace and service account: no two are of the same.
class Bindings {
 public:
  void add(Binding binding);

  // The one of the service account itself, else that of its whole namespace; nullptr: none.
  const Binding* find(std::string_view namespace_, std::string_view service_account) const;

  // The last revision that changed any binding of a namespace, 0 for none: from then on its pods reach as far as now.
  void changed(std::string namespace_, std::int64_t revision) {
    changed_.insert_or_assign(std::move(namespace_), revision);
  }
  std::int64_t changed_at(std::string_view namespace_) const;

  std::size_t size() const { return by_account_.size(); }
  bool operator==(const Bindings&) const = default;

 private:
  using Account = std::pair<std::string, std::string>;
  std::map<Account, Binding> by_account_;
  std::map<std::string, std::int64_t, std::less<>> changed_;
};

}  // namespace sluice::server::identity
