#include "server/sessions/known_sessions.hpp"

#include <chrono>
#include <utility>

namespace sluice::server::sessions {

using std::chrono::steady_clock;

const Session* KnownSessions::find(std::string_view hash) const {
  const auto found = sessions_.find(hash);
  return found == sessions_.end() ? nullptr : &found->second;
}

bool KnownSessions::is_missed(std::string_view hash) { return missed_.contains(hash, steady_clock::now()); }

void KnownSessions::look_up(const std::string& hash, auth::TokenLookups::Done done) {
  const bool has_room = wanted_.size() < kMaxPerRead || wanted_.contains(hash);
  if (has_room) wanted_.insert(hash);
  // Without room, the call waits too, so that a flood gets its answers no sooner.
  lookups_.request([has_room, done = std::move(done)](bool succeeded) { done(succeeded && has_room); });
}

void KnownSessions::read_wanted(auth::TokenLookups::Done done) {
  std::vector<std::string> asked(wanted_.begin(), wanted_.end());
  wanted_.clear();
  read_(asked, [this, asked, done = std::move(done)](std::optional<std::vector<Session>> found) {
    if (found) keep(asked, *std::move(found));
    done(found.has_value());
  });
}

void KnownSessions::keep(const std::vector<std::string>& asked, std::vector<Session> found) {
  std::erase_if(sessions_,
                [now_us = clock_.now_us()](const auto& entry) { return entry.second.expires_at_us <= now_us; });
  for (Session& session : found) {
    std::string hash = session.hash;
    sessions_.insert_or_assign(std::move(hash), std::move(session));
  }
  for (const std::string& hash : asked) {
    if (!sessions_.contains(hash)) missed_.add(hash, steady_clock::now());
  }
}

}  // namespace sluice::server::sessions
