// What is to be done about the server's certificate, given what the Secret holds and the time; and doing it.
//
// Thread safety: pure functions (carry_out() but for randomness). Any number of servers decide by these rules over one
// Secret: whoever writes first has done it, for all of them.
//
// An authority is replaced in three steps, so that at no time a server serves what somebody does not trust:
// it is *announced* (whoever trusts is told of both), then *promoted* (it signs what is served from now on; the former
// one's last certificates may still be served, and it signs a bridge for those who were never told), and the former one
// *retires* when the last certificate it signed has ended.
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
  refuse,    // it is not ours to write
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
