// nginx's configuration: limit_req and limit_conn.
//
// limit_req counts the excess over a rate, up to `burst`: with nodelay, or without a burst, that is a token bucket of
// burst + 1; without nodelay the requests wait for their turn, as in a leaky bucket. All limits of a place are judged
// together, and a place inherits the limits of the enclosing block only if it has none of the same kind. So each server
// and location with limits becomes a policy: the names of the server are `service`, the path of the location is
// `endpoint`, as /v1/authz fills them. A location that other locations' policies would catch gets one of its own.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/policy/match_expr.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/nginx_syntax.hpp"
#include "server/imports/sources.hpp"

namespace sluice::server::imports {
namespace {

using Directives = std::vector<NginxDirective>;

// What names a counter. nginx does not count a request whose key is empty, which only the `optional` ones can be.
struct CounterKey {
  std::vector<DimensionRef> always;
  std::vector<DimensionRef> optional;
};

struct Zone {
  std::string name;
  bool of_connections = false;
  CounterKey key;
  std::int64_t requests = 0;  // per `per`
  Micros per{0};
  Place at;
  std::size_t policies = 0;  // that count by it
};

enum class Pacing : std::uint8_t { none, delay };

// One limit_req or limit_conn.
struct Use {
  Zone* zone = nullptr;
  std::int64_t most = 0;  // requests at once, or connections
  Pacing pacing = Pacing::none;
};

// What holds in a block, inherited or its own.
struct Limits {
  std::vector<Use> requests;
  std::vector<Use> connections;
  bool requests_dry_run = false;
  bool connections_dry_run = false;

  bool empty() const { return requests.empty() && connections.empty(); }
};

struct LocationPath {
  std::string modifier;  // "", "=", "~", "~*" or "^~"
  std::string text;      // "": no location
  std::int64_t priority = 0;

  bool is_regex() const { return modifier.starts_with('~'); }
};

struct Location {
  LocationPath path;
  Limits limits;
  bool declares = false;  // has limits of its own
  Place at;
};

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

constexpr std::size_t kMaxLocations = 2'000;  // of a server; each is compared with all others
constexpr std::size_t kMaxNames = 1'000;      // of a server; each of its policies has all of them

class NginxReader {
 public:
  explicit NginxReader(Draft& draft) : draft_(draft) {}

  void add(std::size_t file, const Source& source) {
    auto parsed = parse_nginx(source.text);
    if (!parsed) return draft_.fault({file, parsed.error().line}, std::move(parsed.error().text));
    // `nginx -T` writes all files one behind the other, with such a comment above each.
    const bool has_all_files = source.text.find("# configuration file ") != std::string::npos;
    files_.push_back({file, *std::move(parsed), has_all_files});
  }

  void read() {
    for_each_http([this](const File& file, const Directives& block) { read_zones(file, block); });
    Limits of_http;
    Place at;
    for_each_http([&](const File& file, const Directives& block) {
      file_ = file.index;
      if (read_limits(block, of_http) && at.line == 0) at = {file.index, first_limit_line(block)};
    });
    if (!draft_.faultless()) return;
    if (!of_http.empty()) add_policies({"nginx", "http"}, {}, {}, of_http, at);
    for_each_http([&](const File& file, const Directives& block) {
      file_ = file.index;
      for (const NginxDirective& directive : block) {
        if (directive.name() == "server") read_server(directive, of_http);
      }
    });
    for (const auto& [name, zone] : zones_) {
      if (zone.policies > 1) {
        draft_.note(zone.at, fmt::format("zone={}", name),
                    fmt::format("nginx counts the requests of all places with this zone together; its {} policies have "
                                "counters of their own",
                                zone.policies),
                    "write one policy whose scope lists the places, if the sum must hold");
      }
    }
  }

 private:
  struct File {
    std::size_t index;
    Directives directives;
    bool has_all_files;
  };

  Place place(std::uint32_t line) const { return {file_, line}; }

  // The files of conf.d and sites-enabled have no `http` around them, so the top level counts as one.
  template <class Visit>
  void for_each_http(Visit visit) {
    for (const File& file : files_) {
      file_ = file.index;
      visit(file, file.directives);
      for (const NginxDirective& directive : file.directives) {
        if (directive.name() == "http") visit(file, directive.block);
      }
    }
  }

  static std::uint32_t first_limit_line(const Directives& block) {
    for (const NginxDirective& directive : block) {
      if (directive.name() == "limit_req" || directive.name() == "limit_conn") return directive.line;
    }
    return 0;
  }

  void read_zones(const File& file, const Directives& block) {
    for (const NginxDirective& directive : block) {
      if (directive.name() == "limit_req_zone" || directive.name() == "limit_conn_zone") read_zone(directive);
      if (directive.name() == "include" && !file.has_all_files) note_include(directive);
      if (directive.name() == "stream") note_stream(directive);
    }
  }

  void note_include(const NginxDirective& directive) {
    draft_.note(place(directive.line), "include", "other files are not read",
                "give the output of `nginx -T`, which has all of them");
  }

  void note_stream(const NginxDirective& stream) {
    for (const NginxDirective& directive : stream.block) {
      if (directive.name() != "limit_conn" && directive.name() != "server") continue;
      for (const NginxDirective& inner : directive.block) {
        if (inner.name() == "limit_conn") note_tcp(inner);
      }
      if (directive.name() == "limit_conn") note_tcp(directive);
    }
  }
  void note_tcp(const NginxDirective& directive) {
    draft_.note(place(directive.line), "limit_conn", "it counts connections of TCP, and checks are for requests");
  }

  void read_zone(const NginxDirective& directive) {
    const bool of_connections = directive.name() == "limit_conn_zone";
    Zone zone;
    zone.of_connections = of_connections;
    zone.at = place(directive.line);
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
      draft_.fault(place(directive.line), fmt::format("the zone {} is there twice: rename one", quoted(name)));
    }
  }

  static void read_rate(std::string_view text, Zone& zone) {
    const bool per_second = text.ends_with("r/s");
    if (!per_second && !text.ends_with("r/m")) return;
    const auto count = number(text.substr(0, text.size() - 3));
    if (!count || *count < 1 || *count > 1'000'000'000) return;
    zone.requests = *count;
    zone.per = per_second ? Micros(std::chrono::seconds(1)) : Micros(std::chrono::minutes(1));
  }

  // The variables of a key. Text between them is the same in all requests.
  CounterKey read_key(std::string_view text, Place at) {
    constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    CounterKey key;
    for (std::size_t from = text.find('$'); from != std::string_view::npos; from = text.find('$', from + 1)) {
      std::string_view rest = text.substr(from + 1);
      if (rest.starts_with('{')) rest.remove_prefix(1);
      const std::string_view name = rest.substr(0, std::min(rest.find_first_not_of(kName), rest.size()));
      if (!name.empty()) add_variable(name, at, key);
    }
    return key;
  }

  void add_variable(std::string_view name, Place at, CounterKey& key) {
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

  // Reads the limits of a block over the inherited ones. Returns whether it has its own.
  bool read_limits(const Directives& block, Limits& limits) {
    std::vector<Use> requests;
    std::vector<Use> connections;
    for (const NginxDirective& directive : block) {
      const std::string_view name = directive.name();
      if (name == "limit_req") read_limit_req(directive, requests);
      if (name == "limit_conn") read_limit_conn(directive, connections);
      if (name == "limit_req_dry_run") limits.requests_dry_run = is_on(directive);
      if (name == "limit_conn_dry_run") limits.connections_dry_run = is_on(directive);
      if (name == "limit_req_status" || name == "limit_conn_status") note_status(directive);
      if (name == "limit_rate" || name == "limit_rate_after") {
        draft_.note(place(directive.line), name, "it paces the bytes of an answer, and a policy counts requests",
                    "leave it in nginx, or charge bytes with `costs`");
      }
    }
    for (const auto* uses : {&requests, &connections}) {
      if (uses->size() <= kMaxLimitsPerPlan) continue;
      draft_.fault(place(first_limit_line(block)),
                   fmt::format("a block must have at most {} limits of a kind, not {}: a policy has no more",
                               kMaxLimitsPerPlan, uses->size()));
      return true;
    }
    const bool declares = !requests.empty() || !connections.empty();
    if (!requests.empty()) limits.requests = std::move(requests);
    if (!connections.empty()) limits.connections = std::move(connections);
    return declares;
  }

  static bool is_on(const NginxDirective& directive) {
    return directive.words.size() > 1 && directive.words[1] == "on";
  }

  void note_status(const NginxDirective& directive) {
    if (directive.words.size() < 2 || directive.words[1] == "429") return;
    draft_.note(place(directive.line), directive.name(), fmt::format("Sluice answers 429, not {}", directive.words[1]),
                "let the caller of the check choose its own status");
  }

  Zone* zone_of(const NginxDirective& directive, std::string_view name) {
    const auto found = zones_.find(name);
    const bool of_connections = directive.name() == "limit_conn";
    if (found != zones_.end() && found->second.of_connections == of_connections) return &found->second;
    draft_.fault(place(directive.line),
                 fmt::format("{} names the zone {}, which no {} has: add it, or give the file that has it too",
                             directive.name(), quoted(name), of_connections ? "limit_conn_zone" : "limit_req_zone"));
    return nullptr;
  }

  void read_limit_req(const NginxDirective& directive, std::vector<Use>& uses) {
    const Place at = place(directive.line);
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
    Zone* const counted = zone_of(directive, zone);
    if (counted == nullptr) return;
    const Pacing pacing = nodelay || burst == 0 ? Pacing::none : Pacing::delay;
    if (pacing == Pacing::delay) {
      draft_.note(at, "limit_req", "nginx holds a request until its turn; the policy says in delay_ms how long to wait",
                  "wait before the request is passed on, or add nodelay");
    }
    uses.push_back({counted, burst + 1, pacing});
  }

  void read_limit_conn(const NginxDirective& directive, std::vector<Use>& uses) {
    const Place at = place(directive.line);
    if (directive.words.size() != 3)
      return draft_.fault(at, "limit_conn needs a zone and a number: limit_conn NAME 10");
    const auto most = number(directive.words[2]);
    if (!most || *most < 1 || *most > 65'535) {
      return draft_.fault(
          at, fmt::format("limit_conn must have a number from 1 to 65535, not {}", quoted(directive.words[2])));
    }
    Zone* const counted = zone_of(directive, directive.words[1]);
    if (counted == nullptr) return;
    draft_.note(at, "limit_conn", "nginx sees the end of a request; a policy is told of it",
                "release the lease of the check when the request has ended");
    uses.push_back({counted, *most, Pacing::none});
  }

  void read_server(const NginxDirective& server, const Limits& of_http) {
    Limits limits = of_http;
    const bool declares = read_limits(server.block, limits);
    if (server.block.empty()) return;
    std::vector<Location> locations;
    read_locations(server.block, limits, locations);
    if (!draft_.faultless()) return;
    const bool any = declares || std::ranges::any_of(locations, &Location::declares);
    note_includes(server.block);
    if (!any) return;
    auto names = read_names(server);
    if (!names) return;
    if (!draft_.faultless()) return;
    const std::string id = names->empty() ? "default" : names->front();
    // Else its scope would be the one of the policy for all servers.
    if (names->empty() && !of_http.empty()) names->emplace_back("*");
    if (declares) add_policies({"nginx", id}, *names, {}, limits, place(server.line));
    add_locations(id, *names, locations);
  }

  void note_includes(const Directives& block) {
    const auto file = std::ranges::find(files_, file_, &File::index);
    if (file->has_all_files) return;
    for (const NginxDirective& directive : block) {
      // Files of parameters, which limit nothing.
      const bool harmless = directive.words.size() == 2 &&
                            (directive.words[1].ends_with("_params") || directive.words[1].ends_with("mime.types"));
      if (directive.name() == "include" && !harmless) note_include(directive);
    }
  }

  // The hosts of a server as values of `service`; empty for the default server. nullopt: no policy can name them.
  std::optional<std::vector<std::string>> read_names(const NginxDirective& server) {
    std::vector<std::string> names;
    bool left_out = false;
    for (const NginxDirective& directive : server.block) {
      if (directive.name() != "server_name") continue;
      for (const std::string& name : std::span(directive.words).subspan(1)) {
        if (name.empty() || name == "_") continue;
        const bool in_front = name.starts_with('*') || name.starts_with('.') || name.starts_with('~');
        if (in_front) {
          left_out = true;
          draft_.note(place(directive.line), name, "the scope of a policy takes a host, or the beginning of one",
                      "list the hosts in the scope of this server's policies");
        } else if (std::ranges::find(names, lower_case(name)) == names.end()) {
          if (names.size() == kMaxNames) {
            draft_.fault(place(directive.line),
                         fmt::format("a server must have at most {} names here: divide it", kMaxNames));
            return std::nullopt;
          }
          names.push_back(lower_case(name));
        }
      }
    }
    if (names.empty() && left_out) return std::nullopt;
    return names;
  }

  void read_locations(const Directives& block, const Limits& inherited, std::vector<Location>& out) {
    for (const NginxDirective& directive : block) {
      if (directive.name() != "location" || directive.words.size() < 2) continue;
      Location location;
      location.limits = inherited;
      location.at = place(directive.line);
      location.declares = read_limits(directive.block, location.limits);
      note_includes(directive.block);
      const bool has_modifier = directive.words.size() > 2;
      location.path = {has_modifier ? directive.words[1] : "", directive.words.back(), 0};
      split_modifier(location.path);
      if (location.path.text.starts_with('@')) {
        if (location.declares) {
          draft_.note(location.at, location.path.text,
                      "no request is for a named location, so its limits were left out");
        }
        continue;
      }
      if (out.size() == kMaxLocations) {
        return draft_.fault(location.at,
                            fmt::format("a server must have at most {} locations here: divide it", kMaxLocations));
      }
      const Limits limits = location.limits;
      out.push_back(std::move(location));
      read_locations(directive.block, limits, out);
    }
  }

  // "location =/x" is one word.
  static void split_modifier(LocationPath& path) {
    if (!path.modifier.empty()) return;
    for (const std::string_view modifier : {"=", "^~", "~*", "~"}) {
      if (!path.text.starts_with(modifier)) continue;
      path.modifier = modifier;
      path.text.erase(0, modifier.size());
      return;
    }
  }

  // nginx takes an exact location first, then the first matching regex, then the longest prefix. Policies rank exact
  // values and longer prefixes by themselves; only a regex needs a priority.
  void add_locations(const std::string& server, const std::vector<std::string>& names,
                     std::vector<Location>& locations) {
    constexpr std::int64_t kExact = 2000;
    constexpr std::int64_t kFirstRegex = 1000;
    std::int64_t regexes = 0;
    const bool has_regex =
        std::ranges::any_of(locations, [](const Location& each) { return each.path.is_regex() && each.declares; });
    for (Location& location : locations) {
      if (!draft_.faultless()) return;
      LocationPath& path = location.path;
      if (path.is_regex()) path.priority = std::max<std::int64_t>(kFirstRegex - regexes++, 1);
      if (has_regex && path.modifier == "=") path.priority = kExact;
      if (!location.declares && !is_caught(location, locations)) continue;
      if (has_regex && path.modifier == "^~") {
        draft_.note(location.at, "^~", "requests that a regex of this server matches too are decided by the regex",
                    "raise the `priority` of this policy");
      }
      add_policies({"nginx", server, path.modifier == "=" ? "exact" : "", path.is_regex() ? "regex" : "",
                    path.text == "/" ? "root" : path.text},
                   names, path, location.limits, location.at);
    }
  }

  // Whether the policy of another location with limits would decide its requests.
  static bool is_caught(const Location& location, const std::vector<Location>& all) {
    return std::ranges::any_of(all, [&location](const Location& other) {
      if (&other == &location || !other.declares || location.path.is_regex()) return false;
      if (other.path.is_regex()) return true;
      return other.path.modifier != "=" && location.path.text.starts_with(other.path.text);
    });
  }

  using IdParts = std::initializer_list<std::string_view>;

  bool set_scope(Policy& policy, const std::vector<std::string>& names, const LocationPath& path, Place at) {
    for (const std::string& name : names) require_value(policy, dimension(Dimension::service), name);
    if (path.text.empty()) return true;
    policy.priority = path.priority;
    if (!path.is_regex()) {
      if (path.modifier == "=" && path.text.ends_with('*')) {
        draft_.note(at, path.text, "a value that ends in * means any ending, so this location was left out",
                    "write its policy by hand, with a match_expr");
        return false;
      }
      require_value(policy, dimension(Dimension::endpoint), path.modifier == "=" ? path.text : path.text + "*");
      return true;
    }
    const std::string regex = path.modifier == "~*" ? "(?i)" + path.text : path.text;
    require_value(policy, dimension(Dimension::endpoint), "*");
    require_expression(policy, fmt::format("endpoint =~ {}", expression_value(regex)));
    if (!policy::check_expression(policy.match_expr)) return true;
    draft_.note(at, path.text, "this regular expression is not one of RE2, so this location was left out",
                "write its policy by hand");
    return false;
  }

  // One policy with all limits. If some count only requests with a certain header, one more for requests without it.
  void add_policies(IdParts id, const std::vector<std::string>& names, const LocationPath& path, const Limits& limits,
                    Place at) {
    std::vector<DimensionRef> optional;
    std::vector<Use> always;
    std::vector<Use> all = limits.requests;
    all.insert(all.end(), limits.connections.begin(), limits.connections.end());
    for (const Use& use : all) {
      optional.insert(optional.end(), use.zone->key.optional.begin(), use.zone->key.optional.end());
      if (use.zone->key.optional.empty()) always.push_back(use);
    }
    const bool splits = !optional.empty() && !always.empty();
    if (splits) {
      draft_.note(at, "limit_req",
                  fmt::format("some of these limits are only for requests with {}; requests with and without it have "
                              "policies of their own, which count apart",
                              to_string(optional.front())));
    }
    add_policy(id, "", names, path, all, optional, limits, at);
    if (splits) add_policy(id, "without", names, path, always, {}, limits, at);
  }

  void add_policy(IdParts id, std::string_view suffix, const std::vector<std::string>& names, const LocationPath& path,
                  const std::vector<Use>& uses, const std::vector<DimensionRef>& needed, const Limits& limits,
                  Place at) {
    Policy policy;
    if (!set_scope(policy, names, path, at)) return;
    for (const DimensionRef& each : needed) {
      const bool is_new = std::ranges::find(policy.scope, each, &ScopeTerm::dimension) == policy.scope.end();
      if (is_new) require_value(policy, each, "*");
    }
    std::string words;
    for (const std::string_view part : id) words.append(part).append(part.empty() ? "" : "-");
    policy.id = draft_.make_id({words, suffix});
    policy.enforcement.ipv6_prefix = 128;  // $binary_remote_addr is the whole address
    if (uses.empty()) {
      policy.enforcement.mode = Mode::off;
      set_limits(policy, {{bucket_limit("unlimited", Algorithm::token_bucket, 1, 1, std::chrono::seconds(1)), {}}});
      return draft_.add(std::move(policy), at);
    }
    set_limits(policy, keyed(uses));
    set_dry_run(policy, uses, limits, at);
    for (const Use& use : uses) ++use.zone->policies;
    draft_.add(std::move(policy), at);
  }

  static std::vector<KeyedLimit> keyed(const std::vector<Use>& uses) {
    std::vector<KeyedLimit> made;
    for (const Use& use : uses) {
      const Zone& zone = *use.zone;
      std::vector<DimensionRef> keys = zone.key.always;
      keys.insert(keys.end(), zone.key.optional.begin(), zone.key.optional.end());
      std::string name = limit_name(zone.name, "zone");
      if (zone.of_connections) {
        made.push_back({concurrency_limit(std::move(name), use.most), std::move(keys)});
      } else {
        const Algorithm algorithm = use.pacing == Pacing::delay ? Algorithm::leaky_bucket : Algorithm::token_bucket;
        made.push_back({bucket_limit(std::move(name), algorithm, use.most, zone.requests, zone.per), std::move(keys)});
      }
    }
    return made;
  }

  void set_dry_run(Policy& policy, const std::vector<Use>& uses, const Limits& limits, Place at) {
    const auto dry = [&limits](const Use& use) {
      return use.zone->of_connections ? limits.connections_dry_run : limits.requests_dry_run;
    };
    if (std::ranges::none_of(uses, dry)) return;
    if (std::ranges::all_of(uses, dry)) {
      policy.enforcement.action = Action::shadow_only;
      return;
    }
    draft_.note(at, "dry_run", "a policy has one action for all its limits, so this one enforces all of them",
                "write a second policy in mode shadow");
  }

  Draft& draft_;
  std::size_t file_ = 0;  // that is being read
  std::vector<File> files_;
  std::map<std::string, Zone, std::less<>> zones_;
};

}  // namespace

void read_nginx(std::span<const Source> sources, Draft& draft) {
  NginxReader reader(draft);
  for (std::size_t file = 0; file < sources.size(); ++file) reader.add(file, sources[file]);
  if (draft.faultless()) reader.read();
}

}  // namespace sluice::server::imports
