// Who may ask the rate limit service, for a front end of any protocol.
//
// No API key is asked of callers on the same machine, on a Unix socket, or with a client certificate. Others need an
// API key of the tenant that the domains belong to.
#pragma once

#include <optional>
#include <string_view>

#include "agent/rls/service.hpp"
#include "engine/decide/decider.hpp"
#include "engine/decide/refusal.hpp"

namespace sluice::agent::rls {

struct NotAdmitted {
  std::optional<decide::Refusal> credential = {};  // why the API key is refused
  std::string_view text = {};                      // one sentence, if there is no such reason
};

// `peer`: the caller's address; "" on a Unix socket. `callers_have_certificates`: nobody connects over TCP without one.
// nullopt: the caller may ask.
std::optional<NotAdmitted> refuse_caller(const Service& service, const decide::Decider& decider, std::string_view peer,
                                         std::string_view api_key, bool callers_have_certificates);

}  // namespace sluice::agent::rls
