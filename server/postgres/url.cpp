#include "server/postgres/url.hpp"

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

std::string value_of(const std::string& url, std::string_view name) {
  const Parsed options = parse(url);
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == name && option->val != nullptr) return option->val;
  }
  return {};
}

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
