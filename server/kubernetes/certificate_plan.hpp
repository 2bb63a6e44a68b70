// Decides the next step for the server's certificate, from the content of the Secret and the time, and carries it out.
//
// Any number of servers apply these rules to one Secret; the first that writes a step does it for all of them.
// Thread safety: pure functions, except that carry_out() uses randomness.
//
// An authority is replaced in three steps, so that clients trust every certificate that a server serves at any time:
//   announce  clients are told to trust the next authority too
//   promote   the next authority signs certificates from now on; the former one signs a bridge for clients that missed
//             the announcement, and its last certificates may still be served
//   retire    clients no longer trust the former authority, because the last certificate that it signed has expired
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "server/kubernetes/certificates.hpp"
#include "server/kubernetes/tls_secret.hpp"

namespace sluice::server::kubernetes {

struct Wanted {
  std::vector<std::string> names = {};  // of the certificate
  std::chrono::seconds lifetime = std::chrono::days(90);
  std::chrono::seconds authority_lifetime = std::chrono::days(3650);
};

enum class Standing : std::uint8_t {
  absent,  // no Secret, or one that holds nothing
  ours,
  damaged,  // it holds an authority's key, but not one that can be used
  foreign,  // it holds a certificate and no authority's key: it is somebody else's, and left alone
};

// What a Secret's content comes to.
struct Facts {
  Standing standing = Standing::absent;
  Period authority{};
  Period leaf{};
  bool leaf_good = false;    // it is signed by the authority in force, and the key is its own
  bool lacks_names = false;  // some that are wanted
  bool announced = false;    // there is a next authority, and it can be used
  bool has_former = false;
  std::chrono::sys_seconds former_until{};
  Renewal asked = Renewal::none;
};
Facts examine(const TlsSecret& secret, const Wanted& wanted);

enum class Step : std::uint8_t {
  none,
  refuse,    // the content belongs to somebody else: leave it alone
  found,     // make everything anew
  renew,     // another certificate of the authority in force
  announce,  // make the next authority
  promote,   // put it in force
  retire,    // trust the former one no more
};
std::string_view to_string(Step step);

// `next_is_trusted`: who trusts has been told of the next authority.
Step next_step(const Facts& facts, std::chrono::sys_seconds now, bool next_is_trusted);

// Two thirds of it have passed.
bool is_due(const Period& period, std::chrono::sys_seconds now);

// What the one who decides serves: it is not what the Secret says where that was deleted or damaged.
struct Served {
  std::string authority = {};  // "": nothing is served
  std::chrono::sys_seconds until{};
};

// The Secret as it is to be written. REQUIRES: a step that writes, next_step()'s for this content. Error: `tls`.
Result<TlsSecret> carry_out(Step step, const TlsSecret& secret, const Wanted& wanted, std::chrono::sys_seconds now,
                            const Served& served);

}  // namespace sluice::server::kubernetes
