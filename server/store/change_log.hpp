// Collects the changes of a transaction and records them before the commit. Each change gets a version, an audit row
// and a row in the table `changes`, which the feed follows. All changes together get one revision.
//
// Every writer takes its locks in this order: first the objects' rows, sorted by kind and id; then the audit heads (for
// each audit chain, the number and hash of its last row), sorted by organization; then the revision. A writer that
// has locked the revision delays all other writers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::store {

struct Actor {
  std::string id;  // id of the token
  std::string role;
  std::string source;           // address of the caller
  std::string session_id = {};  // "": no session of a browser
  std::string request_id;
};

// The trail's column `source` holds the address and, behind it, the session: "192.0.2.7 session 3f9a0c41d2e78b56". So
// the hash of a row is computed as before there were sessions, and every version of the server verifies it.
std::string recorded_source(const Actor& actor);

struct RecordedSource {
  std::string_view address;
  std::string_view session_id;  // "": no session
};
RecordedSource read_source(std::string_view recorded);

struct Change {
  std::string action;  // "create", "update", "delete", "rollback", "rollout", …
  ObjectId key;
  std::string organization_id;
  std::int64_t version = 0;           // the new version; a removal is a version too
  std::optional<std::string> before;  // the document; nullopt: the object did not exist
  std::optional<std::string> after;   // nullopt: the change removed the object
};

struct Revision {
  std::int64_t number = 0;
  std::string chain;    // hex
  std::string made_at;  // RFC 3339, UTC
};

class ChangeLog {
 public:
  bool empty() const { return changes_.empty(); }
  const std::vector<Change>& changes() const { return changes_; }

  void inserted(std::string_view action, const StoredObject& made);
  void updated(std::string_view action, const StoredObject& before, const StoredObject& after);
  void removed(std::string_view action, const StoredObject& before);
  void add(Change change) { changes_.push_back(std::move(change)); }

  // Locks the audit heads. From now until the commit, no other call that changes these organizations records or
  // commits its changes, so what this call reads of them now stays true.
  void lock_heads(postgres::Transaction& tx) const;

  // The revision gets the trace of `tx`, which servers and agents continue. The caller commits. Throws
  // postgres::DeadlinePassed; then the caller must roll back. REQUIRES: there is a change.
  Revision record(postgres::Transaction& tx, const Actor& actor);

 private:
  std::vector<Change> changes_;
};

Revision head(postgres::Transaction& tx);

// Replaces the hash of an API key's secret by a fingerprint, for the audit trail.
std::string redacted(const Change& change, const std::string& document);

}  // namespace sluice::server::store
