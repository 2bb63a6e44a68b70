#include "server/imports/nginx_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "server/imports/limit_set.hpp"

namespace sluice::server::imports {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// The value of a parameter "NAME=VALUE"; nullopt if `word` is another one.
std::optional<std::string_view> parameter(std::string_view word, std::string_view name) {
  if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=') return std::nullopt;
  return word.substr(name.size() + 1);
}

void read_rate(std::string_view text, NginxZone& zone) {
  const bool per_second = text.ends_with("r/s");
  if (!per_second && !text.ends_with("r/m")) return;
  const auto count = number(text.substr(0, text.size() - 3));
  if (!count || *count < 1 || *count > 1'000'000'000) return;
  zone.requests = *count;
  zone.per = per_second ? Micros(std::chrono::seconds(1)) : Micros(std::chrono::minutes(1));
}

bool is_on(const NginxDirective& directive) { return directive.words.size() > 1 && directive.words[1] == "on"; }

}  // namespace

std::uint32_t first_limit_line(const std::vector<NginxDirective>& block) {
  for (const NginxDirective& directive : block) {
    if (directive.name() == "limit_req" || directive.name() == "limit_conn") return directive.line;
  }
  return 0;
}

void NginxLimitReader::read_zone(std::size_t file, const NginxDirective& directive) {
  const bool of_connections = directive.name() == "limit_conn_zone";
  NginxZone zone;
  zone.of_connections = of_connections;
  zone.at = {file, directive.line};
  if (directive.words.size() < 3) {
    return draft_.fault(zone.at, fmt::format("{} needs a key and a zone: {} $binary_remote_addr zone=NAME:SIZE{};",
                                             directive.name(), directive.name(), of_connections ? "" : " rate=RATE"));
  }
  for (const std::string& word : std::span(directive.words).subspan(2)) {
    if (const auto value = parameter(word, "zone")) {
      zone.name = value->substr(0, value->find(':'));
    } else if (const auto rate = parameter(word, "rate"); rate && !of_connections) {
      read_rate(*rate, zone);
    } else if (word != "sync") {
      draft_.note(zone.at, word,
                  fmt::format("this is not known as a parameter of {}, and was left out", directive.name()));
    }
  }
  if (zone.name.empty()) return draft_.fault(zone.at, "zone is missing: write zone=NAME:SIZE");
  if (!of_connections && zone.per == Micros(0)) {
    return draft_.fault(zone.at, "rate is missing or invalid: write rate=10r/s or rate=30r/m");
  }
  zone.key = read_key(directive.words[1], zone.at);
  const std::string name = zone.name;
  if (!zones_.emplace(name, std::move(zone)).second) {
    draft_.fault({file, directive.line}, fmt::format("the zone {} is there twice: rename one", quoted(name)));
  }
}

// The variables of a key. Text between them is the same in all requests.
NginxKey NginxLimitReader::read_key(std::string_view text, Place at) {
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  NginxKey key;
  for (std::size_t from = text.find('$'); from != std::string_view::npos; from = text.find('$', from + 1)) {
    std::string_view rest = text.substr(from + 1);
    if (rest.starts_with('{')) rest.remove_prefix(1);
    const std::string_view name = rest.substr(0, std::min(rest.find_first_not_of(kName), rest.size()));
    if (!name.empty()) add_variable(name, at, key);
  }
  return key;
}

void NginxLimitReader::add_variable(std::string_view name, Place at, NginxKey& key) {
  struct Known {
    std::string_view name;
    Dimension dimension;
  };
  constexpr std::array kKnown{Known{"binary_remote_addr", Dimension::source_ip},
                              Known{"remote_addr", Dimension::source_ip},
                              Known{"server_name", Dimension::service},
                              Known{"host", Dimension::service},
                              Known{"http_host", Dimension::service},
                              Known{"uri", Dimension::endpoint},
                              Known{"document_uri", Dimension::endpoint},
                              Known{"request_method", Dimension::method}};
  if (const auto* const known = std::ranges::find(kKnown, name, &Known::name); known != kKnown.end()) {
    return key.always.push_back(dimension(known->dimension));
  }
  constexpr std::string_view kHeader = "http_";
  if (name.starts_with(kHeader) && name.size() > kHeader.size()) {
    std::string header = lower_case(name.substr(kHeader.size()));
    std::ranges::replace(header, '_', '-');
    return key.optional.push_back(attribute(header));
  }
  key.optional.push_back(attribute(lower_case(name)));
  draft_.note(at, fmt::format("${}", name), "a check has no such value by itself",
              fmt::format("send it as attr.{}, and leave it out where nginx's is empty", lower_case(name)));
}

bool NginxLimitReader::read(std::size_t file, const std::vector<NginxDirective>& block, NginxLimits& limits) {
  std::vector<NginxUse> requests;
  std::vector<NginxUse> connections;
  for (const NginxDirective& directive : block) {
    const std::string_view name = directive.name();
    const Place at{file, directive.line};
    if (name == "limit_req") read_limit_req(directive, at, requests);
    if (name == "limit_conn") read_limit_conn(directive, at, connections);
    if (name == "limit_req_dry_run") limits.requests_dry_run = is_on(directive);
    if (name == "limit_conn_dry_run") limits.connections_dry_run = is_on(directive);
    if (name == "limit_req_status" || name == "limit_conn_status") note_status(directive, at);
    if (name == "limit_rate" || name == "limit_rate_after") {
      draft_.note(at, name, "it paces the bytes of an answer, and a policy counts requests",
                  "leave it in nginx, or charge bytes with `costs`");
    }
  }
  for (const auto* uses : {&requests, &connections}) {
    if (uses->size() <= kMaxLimitsPerPlan) continue;
    draft_.fault(Place{file, first_limit_line(block)},
                 fmt::format("a block must have at most {} limits of a kind, not {}: a policy has no more",
                             kMaxLimitsPerPlan, uses->size()));
    return true;
  }
  const bool declares = !requests.empty() || !connections.empty();
  if (!requests.empty()) limits.requests = std::move(requests);
  if (!connections.empty()) limits.connections = std::move(connections);
  return declares;
}

void NginxLimitReader::note_status(const NginxDirective& directive, Place at) {
  if (directive.words.size() < 2 || directive.words[1] == "429") return;
  draft_.note(at, directive.name(), fmt::format("Sluice answers 429, not {}", directive.words[1]),
              "let the caller of the check choose its own status");
}

NginxZone* NginxLimitReader::zone_of(const NginxDirective& directive, Place at, std::string_view name) {
  const auto found = zones_.find(name);
  const bool of_connections = directive.name() == "limit_conn";
  if (found != zones_.end() && found->second.of_connections == of_connections) return &found->second;
  draft_.fault(at, fmt::format("{} names the zone {}, which no {} has: add it, or give the file that has it too",
                               directive.name(), quoted(name), of_connections ? "limit_conn_zone" : "limit_req_zone"));
  return nullptr;
}

void NginxLimitReader::read_limit_req(const NginxDirective& directive, Place at, std::vector<NginxUse>& uses) {
  std::string_view zone;
  std::int64_t burst = 0;
  bool nodelay = false;
  for (const std::string& word : std::span(directive.words).subspan(1)) {
    if (const auto name = parameter(word, "zone")) {
      zone = *name;
    } else if (const auto text = parameter(word, "burst")) {
      const auto count = number(*text);
      if (!count || *count < 0 || *count >= kMaxLimit) {
        return draft_.fault(
            at, fmt::format("burst must be a whole number from 0 to {}, not {}", kMaxLimit - 1, quoted(*text)));
      }
      burst = *count;
    } else if (word == "nodelay") {
      nodelay = true;
    } else if (const auto delay = parameter(word, "delay")) {
      nodelay = true;
      draft_.note(
          at, word,
          fmt::format("nginx holds requests above {} until their turn; the policy admits burst + 1 at once", *delay),
          "leave delay out, so that delay_ms of the answers spaces all requests");
    } else {
      draft_.note(at, word, "this is not known as a parameter of limit_req, and was left out");
    }
  }
  if (zone.empty()) return draft_.fault(at, "zone is missing: write limit_req zone=NAME");
  NginxZone* const counted = zone_of(directive, at, zone);
  if (counted == nullptr) return;
  const bool delays = !nodelay && burst > 0;
  if (delays) {
    draft_.note(at, "limit_req", "nginx holds a request until its turn; the policy says in delay_ms how long to wait",
                "wait before the request is passed on, or add nodelay");
  }
  uses.push_back({counted, burst + 1, delays});
}

void NginxLimitReader::read_limit_conn(const NginxDirective& directive, Place at, std::vector<NginxUse>& uses) {
  if (directive.words.size() != 3) return draft_.fault(at, "limit_conn needs a zone and a number: limit_conn NAME 10");
  const auto most = number(directive.words[2]);
  if (!most || *most < 1 || *most > 65'535) {
    return draft_.fault(
        at, fmt::format("limit_conn must have a number from 1 to 65535, not {}", quoted(directive.words[2])));
  }
  NginxZone* const counted = zone_of(directive, at, directive.words[1]);
  if (counted == nullptr) return;
  draft_.note(at, "limit_conn", "nginx sees when a request ends; Sluice learns of it by a release",
              "release the lease of the check when the request has ended");
  uses.push_back({counted, *most, false});
}

}  // namespace sluice::server::imports
