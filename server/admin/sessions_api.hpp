// Routes of a browser's session (server/sessions): sign in with an admin token, read who is signed in, sign out.
//
// The cookie and the CSRF token are shown by answers, and stored nowhere.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// Starts a session for the token that the call presents. Refuses a call that came by a session: it would never end.
Answer sign_in(Context& context);
// Who is signed in. Refuses 404 if the call came with a token.
Answer get_session(Context& context);
// Ends the session of the call. Refuses 404 if the call came with a token.
Answer sign_out(Context& context);

}  // namespace sluice::server::admin
