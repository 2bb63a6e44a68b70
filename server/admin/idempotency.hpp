// Answers kept by Idempotency-Key, so that a caller that lost an answer can repeat the call.
//
// The key is written in the call's own transaction, so the change and its answer are stored together or not at all. A
// second call with the key waits for the first and gets its answer.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

inline constexpr std::string_view kIdempotencyLifetime = "24 hours";

// Takes the key for this call. Returns nullopt if the key is new, else the answer of the earlier call. Refuses a key
// that a different request has used.
std::optional<Answer> begin_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call);

// Keeps the answer.
void finish_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call,
                       const FinishedAnswer& answer);

// Removes what is older than its lifetime. Needs no scope.
void forget_old_answers(postgres::Transaction& tx);

}  // namespace sluice::server::admin
