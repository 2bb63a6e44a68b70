// Decides the next step for the server's certificate, from the content of the Secret and the time, and computes the
// Secret that this step writes.
//
// Any number of servers apply these rules to one Secret; the first that writes a step does it for all of them.
// Thread safety: pure functions, except that carry_out() uses randomness.
//
// An authority (CA) is replaced in three steps, so that at any time clients trust every certificate that a server
// serves:
//   announce  clients also get the next authority, and trust both from then on
//   promote   the next authority signs certificates from now on; the former one signs a bridge (see certificates.hpp)
//             for clients that missed the announcement; servers may still serve certificates of the former authority
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
  absent,   // there is no Secret, or it is empty
  valid,    // a server made the Secret, and the authority in it can be used
  damaged,  // the Secret holds the key of an authority, but the key cannot be used
  foreign,  // the Secret holds a certificate without an authority's key: another program owns it, and it is not changed
};

// What next_step() needs to know about a Secret.
struct Facts {
  SecretState state = SecretState::absent;
  Period authority{};        // when the authority in force is valid
  Period leaf{};             // when the leaf (the server's certificate) is valid
  bool leaf_valid = false;   // the authority in force signed the leaf, and the Secret has the leaf's key
  bool lacks_names = false;  // the leaf lacks some of CertificateSpec::names
  bool announced = false;    // there is a usable next authority
  bool has_former = false;   // clients still trust at least one former authority
  // When the last certificate that a former authority signed has expired.
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

// The certificate that this server serves now. It can differ from the one in the Secret, for example after the Secret
// was deleted or damaged.
struct Served {
  std::string authority = {};        // the authority that signed the certificate, PEM; "": no certificate yet
  std::chrono::sys_seconds until{};  // when the certificate expires
};

// Returns the Secret to write for this step. REQUIRES: next_step() returned this step for this Secret, and the step is
// neither `none` nor `refuse`. Error: `tls`.
Result<TlsSecret> carry_out(Step step, const TlsSecret& secret, const CertificateSpec& wanted,
                            std::chrono::sys_seconds now, const Served& served);

}  // namespace sluice::server::kubernetes
