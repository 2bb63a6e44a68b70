// Stores answers by Idempotency-Key, so a caller that lost an answer can safely repeat the call.
//
// The key is written in the call's own transaction, so the change and its answer are stored together or not at all. A
// second call with the key waits for the first call and gets the first call's answer.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

inline constexpr std::string_view kIdempotencyLifetime = "24 hours";

// If the key is new, reserves it for this call and returns nullopt. Else returns the answer of the earlier call with
// this key. Refuses a key that a different request has used.
std::optional<Answer> begin_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call);

// Stores the answer for later calls with the same key. REQUIRES: begin_idempotent() returned nullopt for this call.
void finish_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call,
                       const FinishedAnswer& answer);

// Removes answers older than kIdempotencyLifetime. The transaction needs no scope (Transaction::enter()).
void delete_old_answers(postgres::Transaction& tx);

}  // namespace sluice::server::admin
