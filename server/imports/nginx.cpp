// nginx's configuration: limit_req and limit_conn.
//
// A place inherits the limits of the enclosing block only if it has none of the same kind. So each server and location
// with limits becomes a policy: the names of the server are `service`, the path of the location is `endpoint`, as
// /v1/authz fills them. A location that other locations' policies would catch gets one of its own.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "server/imports/nginx_limits.hpp"
#include "server/imports/nginx_policies.hpp"
#include "server/imports/nginx_syntax.hpp"
#include "server/imports/sources.hpp"

namespace sluice::server::imports {
namespace {

using Directives = std::vector<NginxDirective>;

struct Location {
  NginxPath path;
  NginxLimits limits;
  bool declares = false;  // has limits of its own
  Place at;
};

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
    NginxLimits of_http;
    Place at;
    for_each_http([&](const File& file, const Directives& block) {
      file_ = file.index;
      if (limits_.read(file_, block, of_http) && at.line == 0) at = {file.index, first_limit_line(block)};
    });
    if (!draft_.faultless()) return;
    if (!of_http.empty()) policies_.add({"nginx", "http"}, {}, {}, of_http, at);
    for_each_http([&](const File& file, const Directives& block) {
      file_ = file.index;
      for (const NginxDirective& directive : block) {
        if (directive.name() == "server") read_server(directive, of_http);
      }
    });
    for (const auto& [name, zone] : limits_.zones()) {
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

  void read_zones(const File& file, const Directives& block) {
    for (const NginxDirective& directive : block) {
      const bool is_zone = directive.name() == "limit_req_zone" || directive.name() == "limit_conn_zone";
      if (is_zone) limits_.read_zone(file_, directive);
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

  void read_server(const NginxDirective& server, const NginxLimits& of_http) {
    NginxLimits limits = of_http;
    const bool declares = limits_.read(file_, server.block, limits);
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
    if (declares) policies_.add({"nginx", id}, *names, {}, limits, place(server.line));
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

  void read_locations(const Directives& block, const NginxLimits& inherited, std::vector<Location>& out) {
    for (const NginxDirective& directive : block) {
      if (directive.name() != "location" || directive.words.size() < 2) continue;
      Location location;
      location.limits = inherited;
      location.at = place(directive.line);
      location.declares = limits_.read(file_, directive.block, location.limits);
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
      const NginxLimits limits = location.limits;
      out.push_back(std::move(location));
      read_locations(directive.block, limits, out);
    }
  }

  // "location =/x" is one word.
  static void split_modifier(NginxPath& path) {
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
      NginxPath& path = location.path;
      if (path.is_regex()) path.priority = std::max<std::int64_t>(kFirstRegex - regexes++, 1);
      if (has_regex && path.modifier == "=") path.priority = kExact;
      if (!location.declares && !is_caught(location, locations)) continue;
      if (has_regex && path.modifier == "^~") {
        draft_.note(location.at, "^~", "requests that a regex of this server matches too are decided by the regex",
                    "raise the `priority` of this policy");
      }
      policies_.add({"nginx", server, path.modifier == "=" ? "exact" : "", path.is_regex() ? "regex" : "",
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

  Draft& draft_;
  std::size_t file_ = 0;  // that is being read
  std::vector<File> files_;
  NginxLimitReader limits_{draft_};
  NginxPolicies policies_{draft_};
};

}  // namespace

void read_nginx(std::span<const Source> sources, Draft& draft) {
  NginxReader reader(draft);
  for (std::size_t file = 0; file < sources.size(); ++file) reader.add(file, sources[file]);
  if (draft.faultless()) reader.read();
}

}  // namespace sluice::server::imports
