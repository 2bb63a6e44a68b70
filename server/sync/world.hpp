// All that agents may be told of, as it was at one revision: the objects of the whole installation, the tokens that
// open them, and how it came there.
//
// Thread safety: immutable once made; shared freely between threads. The next state shares with this one what did not
// change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/credential.hpp"
#include "common/sync/object_set.hpp"
#include "server/auth/token_document.hpp"
#include "server/identity/binding.hpp"
#include "server/identity/pod_identity.hpp"
#include "server/sync/history.hpp"

namespace sluice::server::sync {

// What lets an agent in: a token that this server made; or one of Kubernetes', with the binding that its pod falls
// under.
struct AgentToken {
  AgentCaller caller;
  auth::TokenDocument document;  // of a pod: when its token ends, and no more
  KeyHash hash;
  // Of a pod only:
  std::optional<identity::PodIdentity> pod = {};
  std::string bearer = {};  // the token, to be reviewed again
  std::int64_t scope_since =
      0;  // it reaches this far since this revision: what is held from before may be of elsewhere
};

using AgentTokens = std::map<std::string, std::shared_ptr<const AgentToken>, std::less<>>;
using TenantOwners = std::map<std::string, std::string, std::less<>>;  // organizations by tenant

struct World {
  explicit World(History its_history) : history(std::move(its_history)) {}

  const sluice::sync::Position& head() const { return history.head(); }

  std::uint64_t number = 0;  // counts the states of this process
  std::uint64_t line = 0;    // counts the breaks: states of one line follow each other
  History history;
  sluice::sync::ObjectSet objects;
  std::shared_ptr<const TenantOwners> owners = std::make_shared<TenantOwners>();
  std::shared_ptr<const AgentTokens> tokens = std::make_shared<AgentTokens>();
  std::shared_ptr<const identity::Bindings> bindings = std::make_shared<identity::Bindings>();
};

using WorldPtr = std::shared_ptr<const World>;

// Is an object within the scope, by whose it is now?
bool reaches(const World& world, const SyncScope& scope, const ObjectIdView& id);

// All objects of a scope. Costs what the scope has.
sluice::sync::ObjectSet objects_of(const World& world, const SyncScope& scope);

// What leads a scope from a revision to this state: each object that was touched since, as it is now, or its removal.
// Some of it may be as it was. REQUIRES: world.history.base() ≤ since; `world` outlives the edits.
std::vector<sluice::sync::Edit> edits_since(const World& world, const SyncScope& scope, std::int64_t since);

}  // namespace sluice::server::sync
