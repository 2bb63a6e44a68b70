// Traefik's dynamic configuration: the middlewares rateLimit and inFlightReq.
//
// Both forms are read: the file of the file provider, and the Kubernetes resources Middleware and IngressRoute. Each
// router makes limiters of its own out of the middlewares that it names, so each router becomes a policy with all its
// limits. Its rule becomes the scope: Host is `service`, Path and PathPrefix are `endpoint`, as /v1/authz fills them.
// rateLimit is a token bucket of `burst`, filled with average / period.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"
#include "server/imports/traefik_limits.hpp"
#include "server/imports/traefik_rule.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::size_t kMaxChain = 8;          // chains in chains
constexpr std::size_t kMaxMiddlewares = 200;  // of a router, with those of its chains

constexpr std::uint8_t kWholeAddress = 128;

struct Middleware {
  std::string name;  // for people and for ids
  TraefikLimits limits;
  std::vector<std::string> chain;  // keys of other middlewares
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
      if (!middleware.used && !middleware.limits.limits.empty()) add_unused(middleware);
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
    made.limits = read_traefik_limits(section, name);
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

  // The limits of the middlewares, and of those in chains. One that is named again counts the same requests again,
  // which changes nothing.
  void collect(const std::string& key, std::size_t depth, Policy& policy, std::vector<KeyedLimit>& out,
               std::set<std::string_view>& seen) {
    if (seen.size() > kMaxMiddlewares || !seen.insert(key).second || depth > kMaxChain) return;
    const auto found = middlewares_.find(key);
    if (found == middlewares_.end()) return;
    Middleware& middleware = found->second;
    middleware.used = true;
    const TraefikLimits& own = middleware.limits;
    if (own.ipv6_prefix) policy.enforcement.ipv6_prefix = *own.ipv6_prefix;
    out.insert(out.end(), own.limits.begin(), own.limits.end());
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
    if (!read_traefik_rule(router.rule, policy)) {
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
    policy.enforcement.ipv6_prefix = middleware.limits.ipv6_prefix.value_or(kWholeAddress);
    require_value(policy, dimension(Dimension::operation), middleware.name);
    draft_.note(middleware.at, middleware.name, "no router in these files names this middleware",
                fmt::format("send the operation {} with the checks that it is for, or give the file with the routers "
                            "too",
                            quoted(middleware.name)));
    count_by(policy, middleware.limits.limits);
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
