// Decides the next step for the server's certificate, from the content of the Secret and the time, and carries it out.
//
// Any number of servers apply these rules to one Secret; the first that writes a step does it for all of them.
// Thread safety: pure functions, except that carry_out() uses randomness.
//
// An authority (CA) is replaced in three steps, so that at any time clients trust every certificate that a server
// serves:
//   announce  clients get the next authority too, and trust it from then on
//   promote   the next authority signs certificates from now on; the former one signs a bridge (see certificates.hpp)
//             for clients that missed the announcement, and its last certificates may still be served
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

struct CertificateSpec {
  std::vector<std::string> names = {};  // DNS names and addresses for the certificate
  std::chrono::seconds lifetime = std::chrono::days(90);
  std::chrono::seconds authority_lifetime = std::chrono::days(3650);
};

enum class SecretState : std::uint8_t {
  absent,   // no Secret, or an empty one
  valid,    // the servers' own, with a usable authority
  damaged,  // it holds an authority's key that cannot be used
  foreign,  // it holds a certificate but no authority's key, so it belongs to another program and is not changed
};

// What next_step() needs to know about a Secret.
struct Facts {
  SecretState state = SecretState::absent;
  Period authority{};        // of the authority in force
  Period leaf{};             // of the leaf: the server's certificate
  bool leaf_valid = false;   // the authority in force signed the leaf, and the Secret has the leaf's key
  bool lacks_names = false;  // the leaf lacks wanted names
  bool announced = false;    // there is a usable next authority
  bool has_former = false;   // clients still trust a former authority, until former_until
  std::chrono::sys_seconds former_until{};
  Renewal requested = Renewal::none;
};
Facts examine(const TlsSecret& secret, const CertificateSpec& wanted);

enum class Step : std::uint8_t {
  none,
  refuse,    // the Secret is foreign: change nothing
  create,    // make a new authority and a certificate
  renew,     // make another certificate of the authority in force
  announce,  // make the next authority
  promote,   // put the next authority in force
  retire,    // remove the former authority
};
std::string_view to_string(Step step);

// `next_is_trusted`: clients trust the next authority already.
Step next_step(const Facts& facts, std::chrono::sys_seconds now, bool next_is_trusted);

// Whether two thirds of the period have passed.
bool is_due(const Period& period, std::chrono::sys_seconds now);

// The certificate that this server serves now. It differs from the one in the Secret if the Secret was deleted or
// damaged.
struct Served {
  std::string authority = {};        // the authority that signed the certificate, PEM; "": no certificate yet
  std::chrono::sys_seconds until{};  // when the certificate expires
};

// Returns the Secret to write for this step. REQUIRES: next_step() returned this step for this Secret, and the step is
// neither `none` nor `refuse`. Error: `tls`.
Result<TlsSecret> carry_out(Step step, const TlsSecret& secret, const CertificateSpec& wanted,
                            std::chrono::sys_seconds now, const Served& served);

}  // namespace sluice::server::kubernetes
