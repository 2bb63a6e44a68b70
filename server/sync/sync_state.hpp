// The state that agents follow, at one revision: all objects of the installation, the tokens and bindings that give
// access to them, the admin tokens, the quotas that servers check in memory, and the recent history.
//
// A state is immutable once built. The next state shares all unchanged parts with the former one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/credential.hpp"
#include "common/sync/object_set.hpp"
#include "server/auth/known_tokens.hpp"
#include "server/auth/token_document.hpp"
#include "server/auth/token_quotas.hpp"
#include "server/identity/binding.hpp"
#include "server/identity/pod_identity.hpp"
#include "server/sync/history.hpp"

namespace sluice::server::sync {

// The access of one agent: by an agent token, or by a pod's Kubernetes token together with a binding.
struct AgentToken {
  AgentCaller caller;
  auth::TokenDocument document;  // for a pod: only an id, and the expiry of the pod's token
  KeyHash hash;
  // For pods only:
  std::optional<identity::PodIdentity> pod = {};
  std::string bearer = {};
  // The revision of the last change of the namespace's bindings. An older snapshot can be of another scope.
  std::int64_t scope_since = 0;
};

using AgentTokens = std::map<std::string, std::shared_ptr<const AgentToken>, std::less<>>;
using TenantOwners = std::map<std::string, std::string, std::less<>>;  // key: tenant, value: its organization

struct SyncState {
  explicit SyncState(History its_history) : history(std::move(its_history)) {}

  const sluice::sync::Position& head() const { return history.head(); }

  std::uint64_t sequence = 0;  // counts the states that this process has built, from 1
  std::uint64_t epoch = 0;     // counts full reads, from 1; states with equal `epoch` are of one history
  History history;
  sluice::sync::ObjectSet objects;
  std::shared_ptr<const TenantOwners> owners = std::make_shared<TenantOwners>();
  std::shared_ptr<const AgentTokens> tokens = std::make_shared<AgentTokens>();
  auth::KnownTokensPtr admin_tokens = std::make_shared<auth::KnownTokens>();  // agents do not get them
  auth::KnownQuotasPtr quotas = std::make_shared<auth::KnownQuotas>();        // agents do not get them
  std::shared_ptr<const identity::Bindings> bindings = std::make_shared<identity::Bindings>();
};

using SyncStatePtr = std::shared_ptr<const SyncState>;

// Decides by the object's owner in `state`, not by an earlier owner.
bool is_in_scope(const SyncState& state, const SyncScope& scope, const ObjectIdView& id);

// The run time grows with the number of objects in the scope.
sluice::sync::ObjectSet objects_of(const SyncState& state, const SyncScope& scope);

// Returns the present form, or the removal, of each object that changed after revision `since`. An edit can leave
// its object unchanged. REQUIRES: state.history.base().revision ≤ since; `state` outlives the edits.
std::vector<sluice::sync::Edit> edits_since(const SyncState& state, const SyncScope& scope, std::int64_t since);

}  // namespace sluice::server::sync
