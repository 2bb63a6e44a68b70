// Servers that share a Secret: what each serves, and who trusts it, at every moment.
#include <doctest/doctest.h>

#include <unistd.h>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "common/telemetry/registry.hpp"
#include "server/kubernetes/certificate_keeper.hpp"
#include "server/kubernetes/metrics.hpp"
#include "tests/unit/server/kubernetes/fake_cluster.hpp"
#include "tests/unit/server/kubernetes/trust.hpp"

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;
using test::DrivenClock;
using test::FakeCluster;
using test::refusal;
using test::served_by;

constexpr std::int64_t kLifetime = 900;
constexpr std::int64_t kAuthorityLifetime = 3'600;
constexpr std::int64_t kLook = 30;

struct Rig {
  CertificateKeeper::Options options{.namespace_ = "sluice-system",
                                     .secret = "sluice-tls",
                                     .wanted = {.names = {"s.svc"},
                                                .lifetime = std::chrono::seconds(kLifetime),
                                                .authority_lifetime = std::chrono::seconds(kAuthorityLifetime)},
                                     .webhooks = "sluice-injector",
                                     .check_every = std::chrono::seconds(kLook)};
  boost::asio::io_context loop;
  DrivenClock clock;
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  FakeCluster cluster{loop};
  std::deque<std::unique_ptr<CertificateKeeper>> keepers;

  CertificateKeeper& add() {
    keepers.push_back(std::make_unique<CertificateKeeper>(loop, cluster, options, clock, log));
    keepers.back()->start([this] { ++ready; });
    return *keepers.back();
  }
  void settle() {
    loop.restart();
    loop.poll();
  }
  void look() {
    for (const auto& each : keepers) {
      each->check();
      settle();
    }
  }
  void pass(std::int64_t seconds) {
    for (; seconds > 0; seconds -= kLook) {
      clock.seconds += std::min(seconds, kLook);
      look();
    }
  }
  std::string of_api_server(const CertificateKeeper& keeper) const {
    return refusal(cluster.bundle, served_by(*keeper.certificates()), "s.svc", clock.now());
  }
  int ready = 0;
};

TEST_CASE("the first server makes the Secret, tells the webhooks and serves; the second serves the same") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  CHECK(served_by(*one.certificates()) == "");
  rig.settle();
  CHECK(rig.ready == 1);
  CHECK(rig.of_api_server(one) == "");
  CHECK(one.ca_pem() == rig.cluster.bundle);
  CertificateKeeper& two = rig.add();
  rig.settle();
  CHECK(rig.ready == 2);
  CHECK(served_by(*two.certificates()) == served_by(*one.certificates()));
  const std::int64_t version = rig.cluster.secret->version;
  rig.pass(kLifetime / 2);
  CHECK(rig.cluster.secret->version == version);
  CHECK(one.statistics().failures + two.statistics().failures == 0);
}

TEST_CASE("two servers that start at once come to one certificate") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  CertificateKeeper& two = rig.add();
  rig.settle();
  CHECK(rig.ready == 2);
  CHECK(served_by(*two.certificates()) == served_by(*one.certificates()));
  CHECK(rig.of_api_server(two) == "");
}

TEST_CASE("a certificate that is renewed is served by both, of the same authority") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  CertificateKeeper& two = rig.add();
  rig.settle();
  const std::string before = served_by(*one.certificates());
  const std::string trusted = one.ca_pem();
  rig.pass(kLifetime * 2 / 3 + kLook);
  CHECK(served_by(*one.certificates()) != before);
  CHECK(served_by(*two.certificates()) == served_by(*one.certificates()));
  CHECK(one.ca_pem() == trusted);
  CHECK(one.statistics().rotations == 1);
}

TEST_CASE("the metrics show when the serving certificate and its CA expire, and count rotations and failed checks") {
  Rig rig;
  const CertificateKeeper& one = rig.add();
  telemetry::Registry registry;
  registry.add(metrics(), one);
  const std::string expiry = "sluice_tls_certificate_expiry_timestamp_seconds{certificate=";
  CHECK_FALSE(registry.render().contains(expiry + "\"ca\"}"));
  rig.settle();
  rig.pass(kLifetime * 2 / 3 + kLook);
  const std::string scraped = registry.render();
  // Both lines are there, and the CA lasts longer.
  const auto value = [&](const std::string& series) {
    const std::size_t at = scraped.find(series + " ");
    return at == std::string::npos ? 0 : std::strtod(scraped.c_str() + at + series.size(), nullptr);
  };
  CHECK(value(expiry + "\"serving\"}") ==
        static_cast<double>(one.certificates()->not_after().time_since_epoch().count()));
  CHECK(value(expiry + "\"ca\"}") > value(expiry + "\"serving\"}"));
  CHECK(value("\nsluice_tls_rotations_total") == 1);
  CHECK(scraped.contains("\nsluice_tls_check_errors_total 0\n"));
}

TEST_CASE("where the API server is away what is in force stays, that is told once, and over when it is back") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  const std::string before = served_by(*one.certificates());
  rig.cluster.away = true;
  rig.pass(kLifetime);
  CHECK(served_by(*one.certificates()) == before);
  CHECK(one.last_error() == "the API server is away");
  CHECK(one.statistics().failures > 5);
  rig.cluster.away = false;
  rig.pass(kLook);
  CHECK(one.last_error().empty());
  CHECK(rig.of_api_server(one) == "");
  CHECK(served_by(*one.certificates()) != before);
}

TEST_CASE("a start while the API server is away serves as soon as it is back") {
  Rig rig;
  rig.cluster.away = true;
  CertificateKeeper& one = rig.add();
  rig.settle();
  CHECK(rig.ready == 0);
  rig.cluster.away = false;
  rig.pass(kLook);
  CHECK(rig.ready == 1);
  CHECK(rig.of_api_server(one) == "");
}

// A folder of the test's own, for the cache.
struct CacheRig : Rig {
  CacheRig() {
    char name[] = "/tmp/sluice-cache-XXXXXX";
    folder = ::mkdtemp(name);
    options.cache = (folder / "certificate").string();
  }
  ~CacheRig() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_CASE("a start while the API server is away serves at once with the certificate of before, if it is cached") {
  CacheRig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  const std::string before = served_by(*one.certificates());
  const auto mode = std::filesystem::status(rig.options.cache).permissions() & std::filesystem::perms::all;
  CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  rig.keepers.clear();
  rig.cluster.away = true;
  CertificateKeeper& again = rig.add();
  CHECK(rig.ready == 2);
  rig.settle();
  CHECK(served_by(*again.certificates()) == before);
  CHECK(again.ca_pem() == rig.cluster.bundle);
  CHECK(again.last_error() == "the API server is away");
  rig.cluster.away = false;
  rig.pass(kLifetime);
  CHECK(again.last_error().empty());
  const std::string renewed = served_by(*again.certificates());
  CHECK(renewed != before);
  CHECK(rig.of_api_server(again) == "");
  rig.keepers.clear();
  rig.cluster.away = true;
  CHECK(served_by(*rig.add().certificates()) == renewed);
}

TEST_CASE("a cache that has expired, is damaged or could be another user's is not served") {
  CacheRig rig;
  rig.add();
  rig.settle();
  rig.keepers.clear();
  rig.cluster.away = true;
  const auto serves = [&rig] {
    const bool found = !served_by(*rig.add().certificates()).empty();
    rig.settle();
    rig.keepers.clear();
    return found;
  };
  CHECK(serves());
  std::filesystem::permissions(rig.options.cache, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  CHECK_FALSE(serves());
  std::filesystem::permissions(rig.options.cache, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::remove);
  CHECK(serves());
  rig.clock.seconds += kLifetime;
  CHECK_FALSE(serves());
  rig.clock.seconds -= kLifetime;
  std::ofstream(rig.options.cache) << "{}";
  CHECK_FALSE(serves());
}

TEST_CASE("without an injector there are no webhooks to tell, and one that is installed later is told") {
  Rig rig;
  rig.cluster.has_webhooks = false;
  CertificateKeeper& one = rig.add();
  rig.settle();
  CHECK(rig.ready == 1);
  CHECK(one.last_error().empty());
  rig.cluster.has_webhooks = true;
  rig.pass(kLook);
  CHECK(rig.of_api_server(one) == "");
}

TEST_CASE("a caBundle that somebody emptied is put back") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  rig.cluster.bundle.clear();
  rig.pass(kLook);
  CHECK(rig.of_api_server(one) == "");
}

TEST_CASE("an authority that nobody could be told of is not put in force") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  const std::string trusted = rig.cluster.bundle;
  rig.cluster.forbidden[std::string("PATCH ") + FakeCluster::kWebhooks] = "";
  rig.pass(kAuthorityLifetime * 5 / 6);
  CHECK(rig.of_api_server(one) == "");
  CHECK(rig.cluster.bundle == trusted);
  CHECK(one.last_error().contains("forbidden"));
  rig.cluster.forbidden.clear();
  rig.pass(3 * kLook);
  CHECK(rig.cluster.bundle.starts_with(one.ca_pem()));
  CHECK(split_certificates(rig.cluster.bundle).front() != trusted);
  CHECK(rig.of_api_server(one) == "");
}

TEST_CASE("an announced authority is promoted one look's time after the webhooks were seen to trust it, not before") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  const std::string before = one.ca_pem();
  const std::string key = rig.cluster.secret->data.at("ca.key");  // of the authority in force
  const auto promoted_after = [&](std::int64_t seconds) {
    rig.clock.seconds += seconds;
    rig.look();
    return rig.cluster.secret->data.at("ca.key") != key;
  };
  rig.cluster.annotate("sluice.dev/renew", "ca");
  CHECK_FALSE(promoted_after(1));  // announced, and the webhooks are told
  REQUIRE(split_certificates(rig.cluster.bundle).size() == 2);
  CHECK_FALSE(promoted_after(1));  // the webhooks are seen to trust both: the wait begins
  CHECK_FALSE(promoted_after(kLook - 1));
  rig.cluster.bundle = before;  // somebody puts the old bundle back: it is told again, and the wait begins again
  CHECK_FALSE(promoted_after(1));
  REQUIRE(split_certificates(rig.cluster.bundle).size() == 2);
  CHECK_FALSE(promoted_after(1));
  CHECK_FALSE(promoted_after(kLook - 1));
  CHECK(promoted_after(1));
  CHECK(rig.of_api_server(one) == "");
}

TEST_CASE("a certificate of an authority that the webhooks do not trust waits while there is one that they do") {
  for (const char* const method : {"PATCH ", "GET "}) {  // they cannot be told; it is not known whom they trust
    CAPTURE(method);
    Rig rig;
    CertificateKeeper& one = rig.add();
    rig.settle();
    const std::string before = served_by(*one.certificates());
    rig.cluster.forbidden[std::string(method) + FakeCluster::kWebhooks] = "";
    rig.cluster.secret.reset();  // so a new authority is made at once
    rig.pass(2 * kLook);
    CHECK(rig.cluster.secret);
    CHECK(served_by(*one.certificates()) == before);
    CHECK(rig.of_api_server(one) == "");
    rig.cluster.forbidden.clear();
    rig.pass(kLook);
    CHECK(served_by(*one.certificates()) != before);
    CHECK(rig.of_api_server(one) == "");
  }
}

TEST_CASE("once the served certificate has ended the next one is served, whomever the webhooks trust") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  rig.settle();
  const std::string before = served_by(*one.certificates());
  rig.cluster.forbidden[std::string("PATCH ") + FakeCluster::kWebhooks] = "";
  rig.cluster.secret.reset();
  rig.pass(kLifetime - kLook);
  CHECK(served_by(*one.certificates()) == before);
  rig.pass(kLook);
  CHECK(served_by(*one.certificates()) != before);
}

TEST_CASE("an administrator's annotation replaces the authority, step by step, once") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  CertificateKeeper& two = rig.add();
  rig.settle();
  const std::string before = rig.cluster.bundle;
  rig.cluster.annotate("sluice.dev/renew", "ca");
  rig.pass(kLook);
  CHECK(split_certificates(rig.cluster.bundle).size() == 2);
  rig.pass(3 * kLook);
  CHECK_FALSE(rig.cluster.bundle.starts_with(before));
  for (const CertificateKeeper* each : {&one, &two}) {
    CHECK(rig.of_api_server(*each) == "");
    CHECK(refusal(before, served_by(*each->certificates()), "s.svc", rig.clock.now()) == "");
  }
  const std::string after = split_certificates(rig.cluster.bundle).front();
  rig.pass(kLifetime + kLook);
  CHECK(rig.cluster.bundle == after);  // the former one has retired, and nothing is replaced again
}

TEST_CASE("a Secret that was deleted is made again, and nobody is refused meanwhile") {
  Rig rig;
  CertificateKeeper& one = rig.add();
  CertificateKeeper& two = rig.add();
  rig.settle();
  rig.cluster.changed = [&] {
    CHECK(rig.of_api_server(one) == "");
    CHECK(rig.of_api_server(two) == "");
  };
  const std::string before = served_by(*one.certificates());
  rig.cluster.secret.reset();
  rig.pass(2 * kLook);
  CHECK(served_by(*one.certificates()) != before);
  CHECK(served_by(*two.certificates()) == served_by(*one.certificates()));
}

TEST_CASE("what is in the Secret is left alone where it is somebody else's") {
  Rig rig;
  rig.cluster.put({{"tls.crt", "theirs"}, {"tls.key", "theirs"}, {"ca.crt", "theirs"}});
  CertificateKeeper& one = rig.add();
  rig.settle();
  CHECK(rig.ready == 0);
  CHECK(one.last_error().contains("--tls-cert"));
  CHECK(rig.cluster.secret->data.at("tls.crt") == "theirs");
  rig.cluster.put({{"tls.crt", "ours"}, {"ca.crt", "ours"}, {"ca.key", "ours, once"}});
  rig.pass(kLook);
  CHECK(rig.ready == 1);
}

// A replica may be cut off from the API server, and be killed and started again; requests and answers are lost. The API
// server trusts what each one serves, by the bundle in force and by the one it had half a look ago; agents that were
// told of an authority trust what is served while that authority lasts.
TEST_CASE("whatever is lost or killed: nobody who was told of an authority ever refuses what is served") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Rig rig;
    rig.cluster.random.seed(seed);
    const auto below = [&](std::int64_t end) {
      return std::uniform_int_distribution<std::int64_t>(0, end - 1)(rig.cluster.random);
    };
    for (int i = 0; i < 3; ++i) rig.add();
    rig.settle();
    std::vector<std::int64_t> cut_off(3, 0);  // until then
    struct Told {
      std::string trusted;
      std::chrono::sys_seconds until;
    };
    std::deque<Told> agents;
    std::string former_bundle = rig.cluster.bundle;
    std::map<std::pair<std::string, std::string>, bool> known;  // what was verified already
    int authorities = 0;
    const auto verify = [&](const std::string& trusted, const std::string& chain) {
      const auto [entry, is_new] = known.try_emplace({trusted, chain}, true);
      if (is_new) CHECK(refusal(trusted, chain, "s.svc", rig.clock.now()) == "");
    };
    const auto everybody_trusts = [&] {
      for (const auto& each : rig.keepers) {
        const std::string chain = served_by(*each->certificates());
        if (chain.empty()) continue;
        const auto until = std::chrono::floor<std::chrono::seconds>(each->certificates()->not_after());
        if (until <= rig.clock.now()) continue;  // cut off for too long
        verify(rig.cluster.bundle, chain);
        verify(former_bundle, chain);
        for (const Told& agent : agents) {
          if (agent.until > rig.clock.now()) verify(agent.trusted, chain);
        }
      }
    };
    rig.cluster.changed = everybody_trusts;
    rig.cluster.losing_requests = rig.cluster.losing_answers = 0.05;
    for (std::int64_t begun = rig.clock.seconds; rig.clock.seconds < begun + 3 * kAuthorityLifetime;) {
      rig.clock.seconds += kLook;
      former_bundle = rig.cluster.bundle;
      const auto dice = below(200);
      const auto which = static_cast<std::size_t>(below(3));
      if (dice == 0) cut_off[which] = rig.clock.seconds + below(2 * kLifetime);
      if (dice == 1) rig.cluster.annotate("sluice.dev/renew", "certificate");
      for (std::size_t i = 0; i < rig.keepers.size(); ++i) {
        if (cut_off[i] > rig.clock.seconds) continue;
        rig.keepers[i]->check();
        if (dice == 2 && i == which) {  // killed somewhere in the middle
          for (auto steps = below(6); steps > 0; --steps) {
            rig.loop.restart();
            rig.loop.poll_one();
          }
          rig.keepers[i] = std::make_unique<CertificateKeeper>(rig.loop, rig.cluster, rig.options, rig.clock, rig.log);
          rig.keepers[i]->start([] {});
        }
        rig.settle();
      }
      everybody_trusts();
      const std::string trusted = rig.keepers[which]->ca_pem();
      if (!trusted.empty() && (agents.empty() || agents.back().trusted != trusted)) {
        const auto first = read_certificate(trusted);
        REQUIRE(first);
        agents.push_back({trusted, first->period.until});
        ++authorities;
      }
    }
    CHECK(authorities >= 6);  // several were announced and promoted
    rig.cluster.changed = nullptr;
  }
}

}  // namespace
}  // namespace sluice::server::kubernetes
