#include "agent/rls/admission.hpp"

#include "common/domain/ip_address.hpp"

namespace sluice::agent::rls {
namespace {

bool is_on_this_machine(std::string_view peer) {
  if (peer.empty()) return true;
  const auto address = parse_ip(peer);
  return address && is_loopback(*address);
}

}  // namespace

std::optional<NotAdmitted> refuse_caller(const Service& service, const decide::Decider& decider, std::string_view peer,
                                         std::string_view api_key, bool callers_have_certificates) {
  if (callers_have_certificates || is_on_this_machine(peer)) return std::nullopt;
  if (decider.snapshot() == nullptr && service.options().stands_alone) {
    return NotAdmitted{.text =
                           "This agent has no API keys: call it from its own machine, on its Unix socket, or with a "
                           "client certificate (--tls-client-ca)."};
  }
  const auto caller = decider.authenticate(api_key);
  if (!caller) return NotAdmitted{.credential = caller.error()};
  if (caller->tenant->tenant.id == service.options().tenant) return std::nullopt;
  return NotAdmitted{.text = "The API key is of another tenant than the domains (--ratelimit-tenant)."};
}

}  // namespace sluice::agent::rls
