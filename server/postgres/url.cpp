#include "server/postgres/url.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <libpq-fe.h>

namespace sluice::server::postgres {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Parsed = std::unique_ptr<PQconninfoOption, FreeOptions>;

// nullptr: libpq does not accept the URL.
Parsed parse(const std::string& url) { return Parsed(PQconninfoParse(url.c_str(), nullptr)); }

// "" if the option is not set.
std::string value_in(const Parsed& options, std::string_view name) {
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == name && option->val != nullptr) return option->val;
  }
  return {};
}

std::string value_of(const std::string& url, std::string_view name) { return value_in(parse(url), name); }

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

// All options as libpq completes them before it connects; nullptr if libpq cannot complete them.
//
// PQconninfoParse() adds no defaults, and PQconndefaults() does not know the URL's service. So this starts a connection
// with a value that libpq refuses after it has completed the options, and before it resolves or connects to any host.
Parsed complete(const std::string& url) {
  static constexpr const char* kRefused = "sluice-reads-options";
  // The password here keeps libpq from searching its password file.
  const std::array<const char*, 4> names{"dbname", "password", "channel_binding", nullptr};
  const std::array<const char*, 4> values{url.c_str(), "-", kRefused, nullptr};
  constexpr int kExpandUrl = 1;
  const std::unique_ptr<PGconn, Finish> connection(PQconnectStartParams(names.data(), values.data(), kExpandUrl));
  if (!connection) return nullptr;
  Parsed options(PQconninfo(connection.get()));
  return value_in(options, "channel_binding") == kRefused ? std::move(options) : nullptr;
}

// "a,,b" has three items.
std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return items;
}

// libpq's rule. An empty host is the folder that libpq was built with.
bool is_unix_socket(std::string_view host) { return host.empty() || host.starts_with('/') || host.starts_with('@'); }

// Appends "name='value'" in the form that libpq's PQconnectdb reads.
void append(std::string& text, std::string_view name, std::string_view value) {
  if (!text.empty()) text += ' ';
  text.append(name).append("='");
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  text += '\'';
}

}  // namespace

std::optional<std::string> url_fault(const std::string& url) {
  if (parse(url)) return std::nullopt;
  // libpq's own message may quote a part of a password.
  return "is not a PostgreSQL URL: write postgresql://ROLE@HOST[:PORT]/NAME, or "
         "postgresql:///NAME?host=/FOLDER&user=ROLE "
         "for a socket; percent-encode special characters in values";
}

std::string url_user(const std::string& url) { return value_of(url, "user"); }
std::string url_password(const std::string& url) { return value_of(url, "password"); }
std::string url_key_password(const std::string& url) { return value_of(url, "sslpassword"); }

std::optional<Route> route_of(const std::string& url) {
  const Parsed options = complete(url);
  if (!options) return std::nullopt;
  const std::vector<std::string> names = items_of(value_in(options, "host"));
  const std::vector<std::string> addresses = items_of(value_in(options, "hostaddr"));
  Route route{.hosts = {}, .sslmode = value_in(options, "sslmode")};
  for (std::size_t i = 0; i < std::max(names.size(), addresses.size()); ++i) {
    // Where there is an address, the name serves only to check the certificate.
    const bool by_address = i < addresses.size() && !addresses[i].empty();
    if (by_address) {
      route.hosts.push_back(addresses[i]);
    } else if (i < names.size() && !is_unix_socket(names[i])) {
      route.hosts.push_back(names[i]);
    }
  }
  return route;
}

std::string with_parameter(const std::string& url, std::string_view name, std::string_view value) {
  std::string text;
  const Parsed options = parse(url);
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr && option->keyword != name) append(text, option->keyword, option->val);
  }
  append(text, name, value);
  return text;
}

std::string with_default(const std::string& url, std::string_view name, std::string_view value) {
  return value_of(url, name).empty() ? with_parameter(url, name, value) : url;
}

}  // namespace sluice::server::postgres
