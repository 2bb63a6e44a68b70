// Traefik's dynamic configuration: the middlewares rateLimit and inFlightReq.
//
// Both forms are read: the file of the file provider, and the Kubernetes resources Middleware and IngressRoute. Each
// router makes limiters of its own out of the middlewares that it names, so each router becomes a policy with all its
// limits. Its rule becomes the scope: Host is `service`, Path and PathPrefix are `endpoint`, as /v1/authz fills them.
// rateLimit is a token bucket of `burst`, filled with average / period.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::size_t kMaxChain = 8;           // chains in chains
constexpr std::size_t kMaxMiddlewares = 200;   // of a router, with those of its chains
constexpr std::size_t kMaxRuleValues = 1'000;  // of a router's rule

constexpr std::uint8_t kWholeAddress = 128;

struct Criterion {
  DimensionRef key = dimension(Dimension::source_ip);
  std::optional<std::uint8_t> ipv6_prefix;  // as it is written
};

struct Middleware {
  std::string name;                         // for people and for ids
  std::vector<KeyedLimit> limits;           // empty: it limits nothing
  std::optional<std::uint8_t> ipv6_prefix;  // where addresses name a counter
  std::vector<std::string> chain;           // keys of other middlewares
  Place at;
  bool used = false;
};

struct Router {
  std::string id;
  std::string rule;
  std::int64_t priority = 0;
  std::vector<std::string> middlewares;  // keys
  Place at;
};

// A duration of Go ("1m30s"), or a whole number of seconds.
std::optional<Micros> duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t micros;
  };
  static constexpr std::array kUnits{Unit{"us", 1},        Unit{"µs", 1},         Unit{"ms", 1'000},
                                     Unit{"s", 1'000'000}, Unit{"m", 60'000'000}, Unit{"h", 3'600'000'000}};
  constexpr std::int64_t kMost = 1'000'000;  // of one unit: no sum overflows
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  for (int parts = 0; !text.empty(); ++parts) {
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || count < 0 || count > kMost || parts == 8) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty() && parts == 0) return std::chrono::seconds(count);
    const std::string_view name = text.substr(0, std::min(text.find_first_of("0123456789"), text.size()));
    const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == kUnits.end()) return std::nullopt;
    sum += count * unit->micros;
    text.remove_prefix(name.size());
  }
  return Micros(sum);
}

// Host(`a`) && PathPrefix(`/b`): what a router's rule demands, as far as a scope can say it.
class RouterRule {
 public:
  explicit RouterRule(std::string_view text) : text_(text) {}

  // Returns false if the rule has something that a scope cannot say.
  bool read(Policy& policy) {
    do {
      if (!read_matchers(policy)) return false;
    } while (take("&&"));
    skip_spaces();
    return text_.empty();
  }

 private:
  // One matcher, or the same matcher several times with ||.
  bool read_matchers(Policy& policy) {
    const std::string first = read_name();
    if (first != "host" && first != "path" && first != "pathprefix" && first != "method") return false;
    if (!seen_.insert(first == "pathprefix" ? "path" : first).second) return false;
    if (!read_values(first, policy)) return false;
    while (take("||")) {
      if (read_name() != first || !read_values(first, policy)) return false;
    }
    return true;
  }

  bool read_values(std::string_view matcher, Policy& policy) {
    if (!take("(")) return false;
    do {
      const auto value = read_text();
      if (!value || value->empty() || value->ends_with('*') || ++values_ > kMaxRuleValues) return false;
      if (matcher == "host") require_value(policy, dimension(Dimension::service), lower_case(*value));
      if (matcher == "path") require_value(policy, dimension(Dimension::endpoint), *value);
      if (matcher == "pathprefix") require_value(policy, dimension(Dimension::endpoint), *value + "*");
      if (matcher == "method") require_value(policy, dimension(Dimension::method), *value);
    } while (take(","));
    return take(")");
  }

  std::string read_name() {
    skip_spaces();
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const std::string_view name = text_.substr(0, std::min(text_.find_first_not_of(kLetters), text_.size()));
    text_.remove_prefix(name.size());
    return lower_case(name);
  }

  // Quoted by ` or ". An escape is for regular expressions, which no scope has.
  std::optional<std::string> read_text() {
    skip_spaces();
    if (text_.empty() || (text_.front() != '`' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inner = text_.substr(1, end - 1);
    if (inner.find('\\') != std::string_view::npos || inner.find('{') != std::string_view::npos) return std::nullopt;
    text_.remove_prefix(end + 1);
    return std::string(inner);
  }

  bool take(std::string_view sign) {
    skip_spaces();
    if (!text_.starts_with(sign)) return false;
    text_.remove_prefix(sign.size());
    return true;
  }
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  std::string_view text_;
  std::set<std::string, std::less<>> seen_;
  std::size_t values_ = 0;
};

class DynamicReader {
 public:
  explicit DynamicReader(Draft& draft) : draft_(draft) {}

  void read_document(const YamlSource& source, const json::Value& document) {
    if (document.find("kind") != nullptr) return read_resource(source, document);
    Section section(source, document);
    if (const json::Value* const http = section.take("http")) read_http(source, *http);
    if (const json::Value* const tcp = section.take("tcp")) note_tcp(source, *tcp);
  }

  void add_policies() {
    for (const Router& router : routers_) add_router(router);
    for (auto& [key, middleware] : middlewares_) {
      if (!middleware.used && !middleware.limits.empty()) add_unused(middleware);
    }
  }

 private:
  void read_http(const YamlSource& source, const json::Value& value) {
    Section http(source, value);
    if (const json::Value* const all = http.take("middlewares"); all != nullptr && Section(source, *all).is_map()) {
      for (const json::Member& member : all->members()) {
        read_middleware(source, member.value, std::string(member.name), std::string(member.name), {},
                        source.place_of(member.name, member.value));
      }
    }
    if (const json::Value* const all = http.take("routers"); all != nullptr && Section(source, *all).is_map()) {
      for (const json::Member& member : all->members()) read_router(source, member);
    }
  }

  void read_router(const YamlSource& source, const json::Member& member) {
    Section section(source, member.value);
    Router router;
    router.id = member.name;
    router.at = source.place_of(member.name, member.value);
    router.rule = section.text("rule").value_or("");
    router.priority = section.integer("priority", 0, 1'000'000).value_or(0);
    for (const std::string& name : section.texts("middlewares")) router.middlewares.push_back(key_of(name, {}));
    routers_.push_back(std::move(router));
  }

  void note_tcp(const YamlSource& source, const json::Value& value) {
    const json::Value* const all = value.find("middlewares");
    if (all == nullptr || all->type() != json::Type::object) return;
    for (const json::Member& member : all->members()) {
      if (member.value.find("inFlightConn") == nullptr) continue;
      draft_.note(source.place_of(member.name, member.value), "inFlightConn",
                  "it counts connections of TCP, and checks are for requests");
    }
  }

  void read_resource(const YamlSource& source, const json::Value& document) {
    const std::string_view kind = document.text_of("kind");
    if (kind == "List") {
      for (const json::Value& item : document.items_of("items")) {
        if (item.text_of("kind") != "List") read_resource(source, item);
      }
      return;
    }
    if (kind != "Middleware" && kind != "IngressRoute") return;
    Section resource(source, document);
    resource.require("metadata", "it has the name");
    resource.require("spec", "it has the limits or the routes");
    const json::Value* const metadata = resource.take("metadata");
    const json::Value* const spec = resource.take("spec");
    if (metadata == nullptr || spec == nullptr) return;
    Section names(source, *metadata);
    names.require("name", "other resources refer to it");
    const std::string name = names.text("name").value_or("");
    const std::string space = names.text("namespace").value_or("default");
    const std::string shown = fmt::format("{}-{}", space, name);
    if (kind == "Middleware")
      return read_middleware(source, *spec, shown, key_of(name, space), space, resource.place());
    read_ingress_route(source, *spec, shown, space);
  }

  void read_ingress_route(const YamlSource& source, const json::Value& spec, const std::string& shown,
                          std::string_view space) {
    Section section(source, spec);
    const std::span<const json::Value> routes = section.list("routes");
    for (std::size_t i = 0; i < routes.size(); ++i) {
      Section route(source, routes[i]);
      Router router;
      router.id = routes.size() == 1 ? shown : fmt::format("{}-{}", shown, i + 1);
      router.at = route.place();
      router.rule = route.text("match").value_or("");
      router.priority = route.integer("priority", 0, 1'000'000).value_or(0);
      for (const json::Value& item : route.list("middlewares"))
        router.middlewares.push_back(reference(source, item, space));
      routers_.push_back(std::move(router));
    }
  }

  std::string reference(const YamlSource& source, const json::Value& item, std::string_view space) {
    Section section(source, item);
    const std::string name = section.text("name").value_or("");
    return key_of(name, section.text("namespace").value_or(std::string(space)));
  }

  // "limit" and "limit@file" are a middleware of the file provider; "shop-limit@kubernetescrd" is one of a namespace.
  static std::string key_of(std::string_view name, std::string_view space) {
    const std::string_view short_name = name.substr(0, name.find('@'));
    if (name.ends_with("@kubernetescrd")) return fmt::format("kubernetes/{}", short_name);
    if (space.empty() || name.ends_with("@file")) return fmt::format("file/{}", short_name);
    return fmt::format("kubernetes/{}-{}", space, short_name);
  }

  void read_middleware(const YamlSource& source, const json::Value& value, const std::string& name, std::string key,
                       std::string_view space, Place at) {
    Section section(source, value);
    if (space.empty()) key = key_of(name, {});
    Middleware made;
    made.name = name;
    made.at = at;
    if (const json::Value* const limit = section.take("rateLimit")) read_rate_limit(source, *limit, made);
    if (const json::Value* const limit = section.take("inFlightReq")) read_in_flight(source, *limit, made);
    if (const json::Value* const chain = section.take("chain")) {
      Section names(source, *chain);
      for (const json::Value& item : names.list("middlewares")) {
        const auto text = scalar_text(item);
        made.chain.push_back(text ? key_of(*text, space) : reference(source, item, space));
      }
    }
    if (!middlewares_.emplace(std::move(key), std::move(made)).second) {
      draft_.fault(at, fmt::format("the middleware {} is there twice: keep one", quoted(name)));
    }
  }

  void read_rate_limit(const YamlSource& source, const json::Value& value, Middleware& out) {
    Section section(source, value);
    const std::int64_t average = section.integer("average", 0, kMaxLimit).value_or(0);
    const std::int64_t burst = std::max<std::int64_t>(section.integer("burst", 0, kMaxLimit).value_or(1), 1);
    const std::string written = section.text("period").value_or("1s");
    const auto period = duration(written);
    if (!period || *period <= Micros(0) || *period > kMaxWindow) {
      section.fault("period", fmt::format("period must be a time such as 1s or 1m, not {}", quoted(written)));
    }
    const Criterion criterion = read_criterion(section, Dimension::source_ip);
    section.leave_aside({"redis"});  // where it counts
    section.note_rest("rateLimit");
    if (average == 0) {
      return section.note("average", "0 is no limit, so there is no policy for it", "give an average, or remove it");
    }
    if (criterion.ipv6_prefix) out.ipv6_prefix = criterion.ipv6_prefix;
    out.limits.push_back({bucket_limit(limit_name(out.name, "rate"), Algorithm::token_bucket, burst, average,
                                       period.value_or(std::chrono::seconds(1))),
                          {criterion.key}});
  }

  void read_in_flight(const YamlSource& source, const json::Value& value, Middleware& out) {
    Section section(source, value);
    section.require("amount", "it is how many requests may be in flight");
    const std::int64_t amount = section.integer("amount", 0, kMaxLimit).value_or(0);
    const Criterion criterion = read_criterion(section, Dimension::service);
    section.note_rest("inFlightReq");
    section.note("amount", "Traefik sees when a request ends; Sluice learns of it by a release",
                 "release the lease of the check when the request has ended");
    if (criterion.ipv6_prefix) out.ipv6_prefix = criterion.ipv6_prefix;
    out.limits.push_back({concurrency_limit(limit_name(out.name, "in_flight"), amount), {criterion.key}});
  }

  Criterion read_criterion(Section& owner, Dimension fallback) {
    Criterion criterion;
    criterion.key = dimension(fallback);
    const json::Value* const value = owner.take("sourceCriterion");
    if (value == nullptr) return criterion;
    Section section(owner.source(), *value);
    const auto header = section.text("requestHeaderName");
    const bool by_host = section.boolean("requestHost").value_or(false);
    const json::Value* const strategy = section.take("ipStrategy");
    section.note_rest("sourceCriterion");
    if ((header ? 1 : 0) + (by_host ? 1 : 0) + (strategy != nullptr ? 1 : 0) > 1) {
      draft_.fault(section.place(), "sourceCriterion must have one of ipStrategy, requestHeaderName and requestHost");
    }
    if (header) criterion.key = attribute(lower_case(*header));
    if (by_host) criterion.key = dimension(Dimension::service);
    if (strategy != nullptr) {
      criterion.key = dimension(Dimension::source_ip);
      read_strategy(owner.source(), *strategy, criterion);
    }
    return criterion;
  }

  static void read_strategy(const YamlSource& source, const json::Value& value, Criterion& criterion) {
    Section section(source, value);
    constexpr std::string_view kTrust = "say whose X-Forwarded-For counts with the agent's --trusted-proxies";
    section.drop("depth", "whoever sends a check says which address is the client's", kTrust);
    section.drop("excludedIPs", "whoever sends a check says which address is the client's", kTrust);
    const auto prefix = section.integer("ipv6Subnet", 1, 128);
    if (prefix) criterion.ipv6_prefix = static_cast<std::uint8_t>(*prefix);
    section.note_rest("ipStrategy");
  }

  // The limits of the middlewares, and of those in chains. One that is named again counts the same requests again,
  // which changes nothing.
  void collect(const std::string& key, std::size_t depth, Policy& policy, std::vector<KeyedLimit>& out,
               std::set<std::string_view>& seen) {
    if (seen.size() > kMaxMiddlewares || !seen.insert(key).second || depth > kMaxChain) return;
    const auto found = middlewares_.find(key);
    if (found == middlewares_.end()) return;
    Middleware& middleware = found->second;
    middleware.used = true;
    if (middleware.ipv6_prefix) policy.enforcement.ipv6_prefix = *middleware.ipv6_prefix;
    out.insert(out.end(), middleware.limits.begin(), middleware.limits.end());
    if (out.size() > kMaxLimitsPerPlan) return;  // the policy will be refused
    for (const std::string& name : middleware.chain) collect(name, depth + 1, policy, out, seen);
  }

  // In Traefik requests without a header have one counter together.
  static void count_by(Policy& policy, std::vector<KeyedLimit> limits) {
    const bool by_header = std::ranges::any_of(
        limits, [](const KeyedLimit& each) { return each.keys.front().dimension == Dimension::attr; });
    set_limits(policy, std::move(limits));
    if (by_header) policy.enforcement.required = RequiredDimensions::none;
  }

  void add_router(const Router& router) {
    Policy policy;
    std::vector<KeyedLimit> limits;
    policy.enforcement.ipv6_prefix = kWholeAddress;
    std::set<std::string_view> seen;
    for (const std::string& key : router.middlewares) collect(key, 0, policy, limits, seen);
    if (seen.size() > kMaxMiddlewares) {
      return draft_.fault(router.at, fmt::format("a router must have at most {} middlewares, with those of its chains",
                                                 kMaxMiddlewares));
    }
    if (limits.empty()) return;
    policy.priority = router.priority;
    if (!RouterRule(router.rule).read(policy)) {
      policy.scope.clear();
      require_value(policy, dimension(Dimension::operation), router.id);
      draft_.note(router.at, "rule", fmt::format("{} has more than hosts, paths and methods", quoted(router.rule)),
                  fmt::format("send the operation {} with the checks of this router", quoted(router.id)));
    }
    policy.id = draft_.make_id({"traefik", router.id});
    count_by(policy, std::move(limits));
    draft_.add(std::move(policy), router.at);
  }

  void add_unused(const Middleware& middleware) {
    Policy policy;
    policy.id = draft_.make_id({"traefik-middleware", middleware.name});
    policy.enforcement.ipv6_prefix = middleware.ipv6_prefix.value_or(kWholeAddress);
    require_value(policy, dimension(Dimension::operation), middleware.name);
    draft_.note(middleware.at, middleware.name, "no router in these files names this middleware",
                fmt::format("send the operation {} with the checks that it is for, or give the file with the routers "
                            "too",
                            quoted(middleware.name)));
    count_by(policy, middleware.limits);
    draft_.add(std::move(policy), middleware.at);
  }

  Draft& draft_;
  std::map<std::string, Middleware, std::less<>> middlewares_;
  std::vector<Router> routers_;
};

}  // namespace

void read_traefik(std::span<const Source> sources, Draft& draft) {
  DynamicReader reader(draft);
  // Resources refer to each other across documents and files.
  std::vector<std::unique_ptr<YamlSource>> texts;
  for (std::size_t file = 0; file < sources.size(); ++file) {
    texts.push_back(std::make_unique<YamlSource>(sources[file].text, file, draft));
    for (const json::Value* document : texts.back()->documents()) reader.read_document(*texts.back(), *document);
  }
  if (draft.faultless()) reader.add_policies();
}

}  // namespace sluice::server::imports
