#include "server/identity/binding.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::identity {
namespace {

// Whether the text is an RFC 1123 label.
bool is_label(std::string_view text) {
  using identifiers::is_alnum;
  return !text.empty() && std::ssize(text) <= binding_field::kNamespace.max && is_alnum(text.front()) &&
         is_alnum(text.back()) && std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '-'; });
}

bool is_account_name(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

void read_namespace(json::Fields& fields, Binding& binding) {
  fields.require("namespace", "the Kubernetes namespace whose pods get this scope");
  const auto name = fields.text(binding_field::kNamespace);
  if (!name) return;
  binding.namespace_ = *name;
  if (is_label(*name)) return;
  fields.fault("namespace", fmt::format("{} is not the name of a Kubernetes namespace: lower-case letters, digits and "
                                        "'-', with a letter or digit at both ends",
                                        quoted(*name)));
}

void read_account(json::Fields& fields, Binding& binding) {
  binding.service_account = kAnyServiceAccount;
  const auto name = fields.text(binding_field::kServiceAccount);
  if (!name) return;
  binding.service_account = *name;
  if (*name == kAnyServiceAccount || is_account_name(*name)) return;
  fields.fault("service_account",
               fmt::format("{} is not the name of a Kubernetes service account; \"*\" stands for every service "
                           "account of the namespace that has no binding of its own",
                           quoted(*name)));
}

Binding read(json::Fields& fields) {
  Binding binding;
  if (const auto id = fields.text(binding_field::kId)) {
    binding.id = *id;
    if (!is_id(*id)) {
      fields.fault("id",
                   fmt::format("{} must match [a-z0-9][a-z0-9.-]{{0,62}}: lower-case letters, digits, '.' and '-'",
                               quoted(*id)));
    }
  }
  read_namespace(fields, binding);
  read_account(fields, binding);
  binding.organization_id = auth::read_organization_id(fields).value_or("");
  binding.tenant_ids = auth::read_tenant_ids(fields, "a binding");
  std::ranges::sort(binding.tenant_ids);
  return binding;
}

}  // namespace

Binding read_binding(const json::Value& body, Faults& faults) {
  json::FaultList found;
  const json::Place root;
  json::Fields fields(body, root, found);
  Binding binding = read(fields);
  fields.reject_unknown();
  for (Fault& fault : found.take()) faults.push_back(std::move(fault));
  return binding;
}

std::string write_binding(const Binding& binding) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", binding.id);
  out.field("namespace", binding.namespace_);
  out.field("service_account", binding.service_account);
  out.optional_field("organization_id", binding.organization_id);
  out.key("tenant_ids");
  out.texts(binding.tenant_ids);
  out.end_object();
  return out.take();
}

Binding read_stored_binding(std::string_view document) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  const json::Value value = tree.parse(document).value_or(json::Value());
  // Unknown fields are ignored, because a later version of the server may have written them.
  json::Fields fields(value, root, faults);
  Binding binding = read(fields);
  if (faults.count() > 0) binding.namespace_.clear();
  return binding;
}

void Bindings::add(Binding binding) {
  if (binding.namespace_.empty()) return;
  Account account{binding.namespace_, binding.service_account};
  by_account_.insert_or_assign(std::move(account), std::move(binding));
}

std::int64_t Bindings::changed_at(std::string_view namespace_) const {
  const auto found = changed_.find(namespace_);
  return found == changed_.end() ? 0 : found->second;
}

const Binding* Bindings::find(std::string_view namespace_, std::string_view service_account) const {
  for (const std::string_view account : {service_account, kAnyServiceAccount}) {
    const auto found = by_account_.find(Account(namespace_, account));
    if (found != by_account_.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace sluice::server::identity
