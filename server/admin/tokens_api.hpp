// Admin tokens and agent tokens: who has access, and how far it goes.
//
// A token never hands out more than it has, nor changes a token that it could not have handed out. The role and the
// scope of a token stay as they were made; revoking is final. The last live platform_admin token can neither be
// revoked, made to end, nor deleted: somebody must be able to make others.
#pragma once

#include "server/admin/call.hpp"
#include "server/auth/token_document.hpp"

namespace sluice::server::admin {

Answer create_token(Context& context, auth::TokenType type);
Answer patch_token(Context& context, auth::TokenType type);
Answer delete_token(Context& context, auth::TokenType type);

// The caller's own token, and what its role may do.
Answer who_am_i(Context& context);

}  // namespace sluice::server::admin
