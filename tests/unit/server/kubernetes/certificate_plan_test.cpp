// What is decided about the certificate, and that each step leaves what its verifiers accept.
#include <doctest/doctest.h>

#include "server/kubernetes/certificate_plan.hpp"
#include "tests/unit/server/kubernetes/trust.hpp"

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;
using test::refusal;

const sys_seconds kNow{1'800'000'000s};
const CertificateSpec kWanted{.names = {"a.svc", "b.svc"}, .lifetime = 900s, .authority_lifetime = 9'000s};

// Ours, and nothing to do: the certificate is as old as `leaf`, the authority as `authority`.
Facts facts(std::chrono::seconds leaf = 0s, std::chrono::seconds authority = 0s) {
  Facts made;
  made.state = SecretState::valid;
  made.authority = {kNow - authority, kNow - authority + 9'000s};
  made.leaf = {kNow - leaf, kNow - leaf + 900s};
  made.leaf_valid = true;
  return made;
}

TlsSecret carried_out(Step step, const TlsSecret& secret, sys_seconds when = kNow,
                      const CertificateSpec& wanted = kWanted, const Served& served = {}) {
  auto made = carry_out(step, secret, wanted, when, served);
  REQUIRE(made);
  made->version = "1";
  return *made;
}

Step step_of(const TlsSecret& secret, sys_seconds when, bool trusted = false, const CertificateSpec& wanted = kWanted) {
  return next_step(examine(secret, wanted), when, trusted);
}

TEST_CASE("what is good is left alone until two thirds of it have passed") {
  CHECK(next_step(facts(), kNow, false) == Step::none);
  CHECK(next_step(facts(599s), kNow, false) == Step::none);
  CHECK(next_step(facts(600s), kNow, false) == Step::renew);
  CHECK(next_step(facts(0s, 5'999s), kNow, false) == Step::none);
  CHECK(next_step(facts(0s, 6'000s), kNow, false) == Step::announce);
  CHECK(next_step(facts(600s, 6'000s), kNow, false) == Step::renew);  // what is served comes first
}

TEST_CASE("nothing, damage and an authority that has ended are begun anew; what is somebody else's is left alone") {
  Facts none;
  CHECK(next_step(none, kNow, false) == Step::create);
  Facts damaged = facts();
  damaged.state = SecretState::damaged;
  CHECK(next_step(damaged, kNow, false) == Step::create);
  CHECK(next_step(facts(0s, 9'000s), kNow, false) == Step::create);
  Facts foreign = facts(900s, 9'000s);
  foreign.state = SecretState::foreign;
  foreign.requested = Renewal::authority;
  CHECK(next_step(foreign, kNow, true) == Step::refuse);
}

TEST_CASE("an announced authority is promoted when it is trusted, and not before") {
  Facts announced = facts(0s, 6'000s);
  announced.announced = true;
  CHECK(next_step(announced, kNow, false) == Step::none);
  CHECK(next_step(announced, kNow, true) == Step::promote);
  announced.leaf = {kNow - 600s, kNow + 300s};  // due
  CHECK(next_step(announced, kNow, false) == Step::renew);
  CHECK(next_step(announced, kNow, true) == Step::promote);
}

TEST_CASE("a former authority retires when its last certificate has ended") {
  Facts made = facts();
  made.has_former = true;
  made.former_until = kNow + 1s;
  CHECK(next_step(made, kNow, false) == Step::none);
  CHECK(next_step(made, kNow + 1s, false) == Step::retire);
}

TEST_CASE("an administrator may ask for either renewal") {
  Facts made = facts();
  made.requested = Renewal::certificate;
  CHECK(next_step(made, kNow, false) == Step::renew);
  made.requested = Renewal::authority;
  CHECK(next_step(made, kNow, false) == Step::announce);
}

TEST_CASE("what is founded is a certificate for the names, of an authority that signs nothing else's") {
  const TlsSecret made = carried_out(Step::create, {});
  CHECK(step_of(made, kNow) == Step::none);
  for (const char* name : {"a.svc", "b.svc"}) CHECK(refusal(made.trusted(), made.chain(), name, kNow) == "");
  CHECK(refusal(made.trusted(), made.chain(), "c.svc", kNow) != "");
  CHECK(refusal(made.trusted(), made.chain(), "a.svc", kNow - 60s) == "");  // clocks differ
  CHECK(refusal(made.trusted(), made.chain(), "a.svc", kNow + 901s) != "");
  CHECK(refusal(carried_out(Step::create, {}).trusted(), made.chain(), "a.svc", kNow) != "");
  const auto read = read_certificate(made.leaf.certificate);
  REQUIRE(read);
  CHECK(read->period == Period{kNow - 75s, kNow + 900s});
  CHECK(read->names == kWanted.names);
}

TEST_CASE("addresses are names too") {
  const TlsSecret made = carried_out(Step::create, {}, kNow, {.names = {"127.0.0.1", "::1", "localhost"}});
  CHECK(step_of(made, kNow, false, {.names = {"127.0.0.1", "::1"}}) == Step::none);
  CHECK(read_certificate(made.leaf.certificate)->names == std::vector<std::string>{"127.0.0.1", "::1", "localhost"});
}

TEST_CASE("a certificate never outlives its authority") {
  TlsSecret made = carried_out(Step::create, {});
  const sys_seconds late = kNow + 8'500s;
  made = carried_out(Step::renew, made, late);
  CHECK(read_certificate(made.leaf.certificate)->period.until == kNow + 9'000s);
}

TEST_CASE("through a change of authority everybody trusts what is served, whomever they were told of") {
  const TlsSecret before = carried_out(Step::create, {});
  const TlsSecret announced = carried_out(Step::announce, before);
  CHECK(announced.chain() == before.chain());
  CHECK(refusal(announced.trusted(), before.chain(), "a.svc", kNow) == "");
  CHECK(step_of(announced, kNow, false) == Step::none);
  CHECK(step_of(announced, kNow, true) == Step::promote);
  const TlsSecret promoted = carried_out(Step::promote, announced);
  CHECK(step_of(promoted, kNow) == Step::none);
  CHECK(promoted.authority.certificate == announced.next.certificate);
  CHECK(promoted.former_until == read_certificate(before.leaf.certificate)->period.until);
  for (const TlsSecret* told : {&before, &announced, &promoted}) {
    CHECK(refusal(told->trusted(), promoted.chain(), "a.svc", kNow) == "");
  }
  CHECK(refusal(promoted.trusted(), before.chain(), "a.svc", kNow) == "");
  const TlsSecret retired = carried_out(Step::retire, promoted, kNow + 900s);
  CHECK(retired.trusted() == retired.authority.certificate);
  CHECK(refusal(retired.trusted(), before.chain(), "a.svc", kNow) != "");
  const TlsSecret renewed = carried_out(Step::renew, retired, kNow + 900s);
  CHECK(refusal(before.trusted(), renewed.chain(), "a.svc", kNow + 900s) == "");  // by the bridge
}

TEST_CASE("a former authority is trusted until everything has ended that was served of it") {
  const TlsSecret announced = carried_out(Step::announce, carried_out(Step::create, {}));
  const sys_seconds of_secret = kNow + 900s;
  const auto promoted = [&](const TlsSecret& secret, std::chrono::seconds served) {
    return carried_out(Step::promote, secret, kNow, kWanted, {secret.authority.certificate, kNow + served});
  };
  CHECK(promoted(announced, 0s).former_until == of_secret);
  // A server may still serve a certificate that lasts longer than the Secret's: the Secret was written since.
  CHECK(promoted(announced, 5'000s).former_until == kNow + 5'000s);
  // The one before the former one is not dropped early, nor kept for longer than it was needed.
  const TlsSecret twice = carried_out(Step::announce, promoted(announced, 5'000s));
  CHECK(split_certificates(promoted(twice, 0s).former).size() == 2);
  CHECK(promoted(twice, 0s).former_until == kNow + 5'000s);
  const TlsSecret late =
      carried_out(Step::promote, twice, kNow + 5'000s, kWanted, {twice.authority.certificate, kNow + 5'100s});
  CHECK(late.former == twice.authority.certificate);
  CHECK(late.former_until == kNow + 5'100s);
}

TEST_CASE("bridges lead three authorities back, and end with the authority they come from") {
  TlsSecret secret = carried_out(Step::create, {});
  std::vector<std::string> told{secret.trusted()};
  for (int i = 0; i < 4; ++i) {
    secret = carried_out(Step::promote, carried_out(Step::announce, secret));
    told.push_back(secret.authority.certificate);
  }
  CHECK(split_certificates(secret.chain()).size() == 4);
  CHECK(refusal(told[0], secret.chain(), "a.svc", kNow) != "");
  for (std::size_t i = 1; i < told.size(); ++i) CHECK(refusal(told[i], secret.chain(), "a.svc", kNow) == "");
  const TlsSecret later = carried_out(Step::renew, secret, kNow + 9'000s);
  CHECK(split_certificates(later.chain()).size() == 1);
}

TEST_CASE("names that are missing are added and none is taken away, so that different servers come to an end") {
  const CertificateSpec other{.names = {"c.svc"}, .lifetime = 900s, .authority_lifetime = 9'000s};
  const TlsSecret made = carried_out(Step::create, {});
  CHECK(step_of(made, kNow, false, other) == Step::renew);
  const TlsSecret both = carried_out(Step::renew, made, kNow, other);
  CHECK(step_of(both, kNow) == Step::none);
  CHECK(step_of(both, kNow, false, other) == Step::none);
  const TlsSecret due = carried_out(Step::renew, both, kNow + 700s, other);  // a renewal that is due is for one's own
  CHECK(read_certificate(due.leaf.certificate)->names == other.names);
}

TEST_CASE("a Secret that was deleted is founded anew, and what is served stays trusted until it ends") {
  const TlsSecret before = carried_out(Step::create, {});
  const Served served{before.authority.certificate, kNow + 900s};
  const TlsSecret after = carried_out(Step::create, {}, kNow, kWanted, served);
  CHECK(refusal(after.trusted(), before.chain(), "a.svc", kNow) == "");
  CHECK(after.former_until == kNow + 900s);
  CHECK(refusal(before.trusted(), after.chain(), "a.svc", kNow) != "");
  CHECK(step_of(after, kNow + 899s) == Step::renew);
  CHECK(carried_out(Step::create, {}, kNow + 900s, kWanted, served).former == "");
}

TEST_CASE("standings: what cannot be used is told from what is somebody else's") {
  const TlsSecret good = carried_out(Step::create, {});
  const TlsSecret other = carried_out(Step::create, {});
  CHECK(examine(TlsSecret{.version = "1"}, kWanted).state == SecretState::absent);
  TlsSecret changed = good;
  changed.authority.key.clear();  // as cert-manager writes it
  CHECK(examine(changed, kWanted).state == SecretState::foreign);
  changed.authority.key = other.authority.key;
  CHECK(examine(changed, kWanted).state == SecretState::damaged);
  changed = good;
  changed.leaf = other.leaf;
  CHECK(examine(changed, kWanted).state == SecretState::valid);
  CHECK(step_of(changed, kNow) == Step::renew);
  changed.leaf = {};
  CHECK(step_of(changed, kNow) == Step::renew);
  changed = good;
  changed.next = {other.authority.certificate, "no key"};
  CHECK_FALSE(examine(changed, kWanted).announced);
}

TEST_CASE("the Secret's JSON keeps all of it, and a patch names its version and removes what is gone") {
  TlsSecret secret = carried_out(Step::promote, carried_out(Step::announce, carried_out(Step::create, {})));
  secret = carried_out(Step::announce, secret);
  secret.version = "42";
  const std::string patch = patch_tls_secret(secret);
  CHECK(patch.contains(R"("resourceVersion":"42")"));
  const auto read = read_tls_secret(patch);  // a patch of all of it is a Secret
  REQUIRE(read);
  CHECK(read->trusted() == secret.trusted());
  CHECK(read->chain() == secret.chain());
  CHECK(read->next.key == secret.next.key);
  CHECK(read->authority.key == secret.authority.key);
  CHECK(read->leaf.key == secret.leaf.key);
  CHECK(read->former_until == secret.former_until);
  CHECK(patch_tls_secret(TlsSecret{.version = "1"}).contains(R"("ca-next.key":null)"));
  CHECK(patch.contains(R"("sluice.dev/renew":null)"));
  CHECK_FALSE(create_tls_secret(secret, "sluice-tls").contains("null"));
  CHECK(create_tls_secret(secret, "sluice-tls").contains(R"("type":"kubernetes.io/tls")"));
  CHECK(read_tls_secret(R"({"kind":"Status"})").error().code == "unexpected");
  CHECK(read_tls_secret("<html>").error().code == "unexpected");
  const auto asked = read_tls_secret(
      R"({"metadata":{"resourceVersion":"1","annotations":{"sluice.dev/renew":"ca"}},"data":{"tls.crt":"!","ca.key":7}})");
  REQUIRE(asked);
  CHECK(asked->requested == Renewal::authority);
  CHECK(asked->empty());
}

}  // namespace
}  // namespace sluice::server::kubernetes
