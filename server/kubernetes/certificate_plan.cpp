#include "server/kubernetes/certificate_plan.hpp"

#include <algorithm>
#include <utility>

namespace sluice::server::kubernetes {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr seconds kMaxClockSkew = std::chrono::minutes(5);
constexpr std::size_t kMaxBridges = 3;  // see bridge(); each new authority adds one

SecretState state_of(const TlsSecret& secret) {
  if (secret.empty()) return SecretState::absent;
  if (secret.authority.key.empty()) return SecretState::foreign;
  return key_matches(secret.authority) ? SecretState::valid : SecretState::damaged;
}

Period period_of(const std::string& certificate) {
  const auto read = read_certificate(certificate);
  return read ? read->period : Period{};
}

// Starts before now, for clients whose clocks are behind.
Period validity(seconds lifetime, sys_seconds now) {
  return {now - std::min(kMaxClockSkew, lifetime / 12), now + lifetime};
}

std::vector<std::string> union_of(std::vector<std::string> names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
  return names;
}

// During a rolling restart, servers may want different names, and must not keep replacing each other's certificate. So
// a valid certificate loses names only when its renewal is due.
std::vector<std::string> names_for(const TlsSecret& secret, const CertificateSpec& wanted, sys_seconds now) {
  const auto leaf = read_certificate(secret.leaf.certificate);
  const bool good = leaf && is_issued_by(secret.leaf.certificate, secret.authority.certificate);
  if (!good || is_due(leaf->period, now)) return wanted.names;
  return union_of(wanted.names, leaf->names);
}

std::string unexpired(const std::string& certificates, sys_seconds now, std::size_t limit) {
  std::string found;
  for (const std::string& each : split_certificates(certificates)) {
    if (limit == 0) break;
    if (period_of(each).until <= now) continue;
    found += each;
    --limit;
  }
  return found;
}

Result<TlsSecret> with_new_leaf(TlsSecret secret, const std::vector<std::string>& names, const CertificateSpec& wanted,
                                sys_seconds now) {
  Period period = validity(wanted.lifetime, now);
  period.until = std::min(period.until, period_of(secret.authority.certificate).until);
  auto made = issue(secret.authority, names, period);
  if (!made) return std::unexpected(std::move(made.error()));
  secret.leaf = *std::move(made);
  secret.bridges = unexpired(secret.bridges, now, kMaxBridges);
  if (secret.requested == Renewal::certificate) secret.requested = Renewal::none;
  return secret;
}

Result<TlsSecret> create(const TlsSecret& secret, const CertificateSpec& wanted, sys_seconds now,
                         const Served& served) {
  auto authority = make_authority(validity(wanted.authority_lifetime, now));
  if (!authority) return std::unexpected(std::move(authority.error()));
  TlsSecret made{.version = secret.version, .authority = *std::move(authority)};
  if (!served.authority.empty() && served.until > now) {
    made.former = served.authority;
    made.former_until = served.until;
  }
  return with_new_leaf(std::move(made), wanted.names, wanted, now);
}

Result<TlsSecret> announce(TlsSecret secret, const CertificateSpec& wanted, sys_seconds now) {
  auto next = make_authority(validity(wanted.authority_lifetime, now));
  if (!next) return std::unexpected(std::move(next.error()));
  secret.next = *std::move(next);
  if (secret.requested == Renewal::authority) secret.requested = Renewal::none;
  return secret;
}

Result<TlsSecret> promote(TlsSecret secret, const CertificateSpec& wanted, sys_seconds now, const Served& served) {
  auto bridged = bridge(secret.authority, secret.next.certificate);
  if (!bridged) return std::unexpected(std::move(bridged.error()));
  const bool former_still_needed = secret.former_until > now;
  secret.former = secret.authority.certificate + (former_still_needed ? secret.former : std::string());
  secret.former_until = std::max({former_still_needed ? secret.former_until : sys_seconds{}, served.until,
                                  period_of(secret.leaf.certificate).until});
  secret.bridges = *bridged + secret.bridges;
  secret.authority = std::exchange(secret.next, {});
  return with_new_leaf(std::move(secret), wanted.names, wanted, now);
}

}  // namespace

Facts examine(const TlsSecret& secret, const CertificateSpec& wanted) {
  Facts facts;
  facts.state = state_of(secret);
  if (facts.state != SecretState::valid) return facts;
  facts.authority = period_of(secret.authority.certificate);
  if (const auto leaf = read_certificate(secret.leaf.certificate)) {
    facts.leaf = leaf->period;
    facts.leaf_valid = key_matches(secret.leaf) && is_issued_by(secret.leaf.certificate, secret.authority.certificate);
    facts.lacks_names = !std::ranges::all_of(
        wanted.names, [&](const std::string& name) { return std::ranges::binary_search(leaf->names, name); });
  }
  facts.announced = key_matches(secret.next);
  facts.has_former = !secret.former.empty();
  facts.former_until = secret.former_until;
  facts.requested = secret.requested;
  return facts;
}

bool is_due(const Period& period, sys_seconds now) { return now >= period.until - (period.until - period.from) / 3; }

Step next_step(const Facts& facts, sys_seconds now, bool next_is_trusted) {
  if (facts.state == SecretState::foreign) return Step::refuse;
  if (facts.state != SecretState::valid || facts.authority.until <= now) return Step::create;
  if (facts.announced && next_is_trusted) return Step::promote;
  const bool requested = facts.requested == Renewal::certificate;
  if (!facts.leaf_valid || facts.lacks_names || requested || is_due(facts.leaf, now)) return Step::renew;
  const bool authority_due = is_due(facts.authority, now) || facts.requested == Renewal::authority;
  if (!facts.announced && authority_due) return Step::announce;
  if (facts.has_former && facts.former_until <= now) return Step::retire;
  return Step::none;
}

Result<TlsSecret> carry_out(Step step, const TlsSecret& secret, const CertificateSpec& wanted, sys_seconds now,
                            const Served& served) {
  switch (step) {
    case Step::create:
      return create(secret, wanted, now, served);
    case Step::renew:
      return with_new_leaf(secret, names_for(secret, wanted, now), wanted, now);
    case Step::announce:
      return announce(secret, wanted, now);
    case Step::promote:
      return promote(secret, wanted, now, served);
    case Step::retire: {
      TlsSecret changed = secret;
      changed.former.clear();
      changed.former_until = {};
      return changed;
    }
    case Step::none:
    case Step::refuse:
      break;
  }
  return secret;
}

std::string_view to_string(Step step) {
  switch (step) {
    case Step::none:
      return "none";
    case Step::refuse:
      return "refuse";
    case Step::create:
      return "create";
    case Step::renew:
      return "renew";
    case Step::announce:
      return "announce";
    case Step::promote:
      return "promote";
    case Step::retire:
      return "retire";
  }
  return "";
}

}  // namespace sluice::server::kubernetes
