// Decides the next step for the server's certificate, from its Secret and the time. Computes the Secret that the step
// writes. Pure functions, except that carry_out() uses randomness.
//
// An authority (CA) is replaced in three steps, so that clients trust every certificate that a server serves:
//   announce  clients also get the next authority, and trust both authorities
//   promote   the next authority signs certificates; the former one signs a bridge (see certificates.hpp) for clients
//             that missed the announcement
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
  std::vector<std::string> names = {};  // DNS names and addresses
  std::chrono::seconds lifetime = std::chrono::days(90);
  std::chrono::seconds authority_lifetime = std::chrono::days(3650);
};

enum class SecretState : std::uint8_t {
  absent,   // there is no Secret, or it is empty
  valid,    // the authority in the Secret can be used
  damaged,  // the Secret holds the key of an authority, but the key cannot be used
  foreign,  // the Secret holds no authority's key, because another program owns the Secret
};

// What next_step() needs to know about a Secret.
struct Facts {
  SecretState state = SecretState::absent;
  Period authority{};       // of the authority in force
  Period leaf{};            // of the leaf (the server's certificate)
  bool leaf_valid = false;  // the authority in force signed the leaf, and the Secret has the leaf's key
  bool lacks_names = false;
  bool announced = false;   // there is a usable next authority
  bool has_former = false;  // clients still trust a former authority
  // The expiry of the last certificate that a former authority signed.
  std::chrono::sys_seconds former_until{};
  Renewal requested = Renewal::none;
};
Facts examine(const TlsSecret& secret, const CertificateSpec& wanted);

enum class Step : std::uint8_t {
  none,
  refuse,  // the Secret is foreign
  create,  // make a new authority and a certificate
  renew,   // make another certificate, signed by the authority in force
  announce,
  promote,
  retire,
};
std::string_view to_string(Step step);

Step next_step(const Facts& facts, std::chrono::sys_seconds now, bool next_is_trusted);

// Whether two thirds of the period have passed.
bool is_due(const Period& period, std::chrono::sys_seconds now);

// The certificate that this server serves now, which can differ from the Secret's.
struct Served {
  std::string authority = {};  // PEM; "": no certificate yet
  std::chrono::sys_seconds until{};
};

// Returns the Secret to write. REQUIRES: next_step() returned this step for this Secret, and the step is neither `none`
// nor `refuse`. Error: `tls`.
Result<TlsSecret> carry_out(Step step, const TlsSecret& secret, const CertificateSpec& wanted,
                            std::chrono::sys_seconds now, const Served& served);

}  // namespace sluice::server::kubernetes
