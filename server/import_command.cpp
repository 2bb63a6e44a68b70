#include "server/import_command.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/io_context.hpp>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/http_client/client.hpp"
#include "common/json/tree.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "server/imports/imports.hpp"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kName = "sluice-server import";
constexpr std::size_t kMaxFileBytes = 64UL << 20;  // an importer takes less

void read_server(program::ConfigReader& reader, ImportOptions& options) {
  const auto url = http_client::parse_url(reader.value("server").text);
  if (!url || url->transport == http_client::Url::Transport::unix_socket) {
    return reader.fault_without_value(
        "server",
        "must be the server that gets the policies: https://HOST[:PORT] or http://HOST[:PORT]; or add --dry-run");
  }
  options.server = *url;
  const bool encrypted = url->transport == http_client::Url::Transport::tls;
  const bool insecure = reader.boolean("insecure-server");
  if (encrypted || insecure || program::is_loopback(url->host)) return;
  reader.fault("server",
               "would send the token across the network in clear; use https://, or add --insecure-server where the "
               "network is trusted");
}

std::string read_token(program::ConfigReader& reader) {
  const std::string path = reader.file("token-file");
  std::string token;
  std::ifstream file(path);
  if (path.empty() || !std::getline(file, token) || token.empty()) {
    reader.fault_without_value("token-file", "must be a file whose first line is an admin token; or add --dry-run");
  }
  return token;
}

std::optional<imports::Source> read_source(const std::string& path) {
  const bool from_stdin = path == "-";
  std::ifstream file;
  if (!from_stdin) file.open(path, std::ios::binary);
  std::istream& in = from_stdin ? std::cin : file;
  imports::Source source{from_stdin ? "stdin" : path, {}};
  std::array<char, 65'536> part{};
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    source.text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    if (source.text.size() > kMaxFileBytes) {
      fmt::print(stderr, "{}: {} has more than {} MiB: divide it\n", kName, source.name, kMaxFileBytes >> 20);
      return std::nullopt;
    }
  }
  if (in.eof() && !in.bad()) return source;
  fmt::print(stderr, "{}: {} cannot be read: name a file that is there, or - for stdin\n", kName, quoted(path));
  return std::nullopt;
}

std::string yaml_of(const std::string& bundle) {
  json::Tree tree;
  return yaml::yaml_of_json(tree.parse(bundle).value());
}

void print_notes(const imports::Imported& imported, std::span<const imports::Source> sources) {
  if (!imported.dimensions.empty()) {
    std::string names;
    for (const std::string& name : imported.dimensions) names.append(names.empty() ? "" : ", ").append(name);
    fmt::print(stderr, "{} policies; checks bring: {}\n", imported.policies, names);
  }
  if (imported.notes.empty()) return;
  fmt::print(stderr, "without a counterpart, or counted otherwise: {}\n", imported.notes.size());
  for (const imports::Note& note : imported.notes) fmt::print(stderr, "{}\n", describe(note, sources));
}

Result<http_client::Response> post(const ImportOptions& options, std::string bundle) {
  boost::asio::io_context context;
  http_client::Client client(context, {.server = options.server,
                                       .tls = {.ca = options.server_ca},
                                       .head_timeout = 120s,
                                       .user_agent = "sluice-server-import"});
  Result<http_client::Response> outcome = std::unexpected(Error{"request", "no answer"});
  client.send({.method = "POST",
               .target = "/v1/admin/apply",
               .bearer = options.token,
               .body = std::move(bundle),
               .max_body = 64UL << 20},
              [&](Result<http_client::Response> response) {
                outcome = std::move(response);
                context.stop();  // else the kept connection would be read for ever
              });
  context.run();
  return outcome;
}

int apply(const ImportOptions& options, const imports::Imported& imported) {
  const auto response = post(options, imported.bundle);
  if (!response) {
    fmt::print(stderr, "{}: {}: {}\n", kName, response.error().code, response.error().text);
    return 1;
  }
  if (response->status == 200) {
    fmt::print("{}\n", response->body);
    return 0;
  }
  fmt::print(stderr, "{}: the server answers {}, and nothing was changed: {}\n", kName, response->status,
             response->body);
  return 1;
}

}  // namespace

ImportOptions read_import(program::ConfigReader& reader, const std::vector<std::string>& operands) {
  ImportOptions options;
  if (operands.size() < 2) {
    reader.operand_fault(
        "FROM FILE", fmt::format("are missing; FROM is one of {}, and FILE is - for stdin", imports::importer_names()));
  } else if (imports::find_importer(operands.front()) == nullptr) {
    reader.operand_fault(quoted(operands.front()),
                         fmt::format("is not known; FROM is one of {}", imports::importer_names()));
  } else {
    options.from = operands.front();
    options.files.assign(operands.begin() + 1, operands.end());
  }
  options.tenant_id = reader.value("tenant").text;
  if (!is_id(options.tenant_id)) reader.fault("tenant", "must be the id of a tenant");
  options.strict = reader.boolean("strict");
  options.dry_run = reader.boolean("dry-run");
  if (options.dry_run) return options;
  read_server(reader, options);
  options.token = read_token(reader);
  options.server_ca = reader.file("server-tls-ca");
  return options;
}

int run_import(const ImportOptions& options) {
  std::vector<imports::Source> sources;
  for (const std::string& path : options.files) {
    auto source = read_source(path);
    if (!source) return 1;
    sources.push_back(*std::move(source));
  }
  const auto imported = imports::import_sources(*imports::find_importer(options.from), sources, options.tenant_id);
  if (!imported) {
    fmt::print(stderr, "{}: these files are not valid, and nothing was imported:\n", kName);
    for (const imports::SourceFault& fault : imported.error()) fmt::print(stderr, "{}\n", describe(fault, sources));
    return 1;
  }
  print_notes(*imported, sources);
  const bool refused = options.strict && !imported->notes.empty();
  if (options.dry_run) fmt::print("{}", yaml_of(imported->bundle));
  if (refused) {
    fmt::print(stderr, "{}: --strict: not everything has a counterpart{}\n", kName,
               options.dry_run ? "" : ", so nothing was applied");
    return 1;
  }
  return options.dry_run ? 0 : apply(options, *imported);
}

}  // namespace sluice::server
