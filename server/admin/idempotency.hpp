// Answers kept by Idempotency-Key, so that a call whose answer was lost can be made again.
//
// The key is written in the transaction of the call itself: what was done and what was answered are one. A second call
// with the key waits for the first, and then finds its answer.
#pragma once

#include <optional>
#include <string>

#include "server/admin/call.hpp"

namespace sluice::server::admin {

inline constexpr std::string_view kIdempotencyLifetime = "24 hours";

// Takes the key for this call: nothing where it is new, else the answer that was given. Refuses a key that another
// request was made with.
std::optional<Answer> begin_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call);

// Keeps the answer.
void finish_idempotent(postgres::Transaction& tx, const auth::Principal& principal, const Call& call,
                       const FinishedAnswer& answer);

// Removes what is older than its lifetime. Needs no scope.
void forget_old_answers(postgres::Transaction& tx);

}  // namespace sluice::server::admin
