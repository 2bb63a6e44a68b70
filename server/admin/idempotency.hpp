// Stores answers by Idempotency-Key, so a caller that lost an answer can safely repeat the call.
//
// The change and its answer are stored in one transaction. A second call with the same key waits for the first
// call's answer.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

inline constexpr std::string_view kIdempotencyLifetime = "24 hours";

// If the key is new, reserves it for this call and returns nullopt. If an earlier call used it, returns that call's
// answer, or refuses if the earlier request was different.
std::optional<Answer> begin_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call);

// Stores the answer for later calls with the key. REQUIRES: begin_idempotent() returned nullopt for this call.
void finish_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call,
                       const FinishedAnswer& answer);

// The transaction needs no scope (Transaction::enter()).
void delete_old_answers(postgres::Transaction& tx);

}  // namespace sluice::server::admin
