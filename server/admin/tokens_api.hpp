// Routes of admin tokens and agent tokens.
//
// A token cannot create, change or delete a token with more permissions or a larger scope than its own. The role and
// the scope of a token cannot be changed, and a revoked token stays revoked. The last live platform_admin token cannot
// be revoked, deleted or set to a past expiry.
#pragma once

#include "server/admin/call.hpp"
#include "server/auth/token_document.hpp"

namespace sluice::server::admin {

Answer create_token(Context& context, auth::TokenType type);
Answer patch_token(Context& context, auth::TokenType type);
Answer delete_token(Context& context, auth::TokenType type);

// The caller's own token, and the permissions of its role.
Answer who_am_i(Context& context);

}  // namespace sluice::server::admin
