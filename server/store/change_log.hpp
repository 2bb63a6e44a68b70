// What a transaction changes, and its last steps: every change gets its version, its audit row and its entry in what
// agents follow, and all of them together one revision.
//
// Lock order of every writer: rows by (kind, id), audit heads by organization, the revision, COMMIT. A writer that is
// held up before its audit head delays writers of the same rows only; between head and revision its organization; after
// that everybody, until lock and idle time-outs end it.
//
// Thread safety: none; it belongs to one transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/postgres/transaction.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::store {

// Who changes something, as the audit trail keeps it.
struct Actor {
  std::string id;  // of the token
  std::string role;
  std::string source;  // the address the call came from
  std::string request_id;
};

struct Change {
  std::string action;  // "create", "update", "delete", "rollback", "rollout", …
  ObjectKey key;
  std::int64_t version = 0;
  std::optional<std::string> before;  // documents
  std::optional<std::string> after;
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

  void add(Change change) { changes_.push_back(std::move(change)); }

  // Writes all of it as one revision; the caller commits. REQUIRES: not empty.
  Revision record(postgres::Transaction& tx, const Actor& actor);

 private:
  std::vector<Change> changes_;
};

// The newest revision.
Revision head(postgres::Transaction& tx);

// A document as the audit trail shows it: hashes of secrets become fingerprints.
std::string redacted(const Change& change, const std::string& document);

}  // namespace sluice::server::store
