// `sluice-server import FROM FILE…`: makes policies of the configuration of another limiter, and prints or applies
// them.
//
// It reads files, or stdin for "-", and talks to a running server as any client of the admin API does.
#pragma once

#include <string>
#include <vector>

#include "common/http_client/url.hpp"
#include "common/program/config_reader.hpp"

namespace sluice::server {

struct ImportOptions {
  std::string from;                // the name of an importer
  std::vector<std::string> files;  // "-" is stdin
  std::string tenant_id;           // who gets the policies
  bool dry_run = false;            // print the bundle, and apply nothing
  bool strict = false;             // fail if anything has no counterpart
  http_client::Url server;         // where to apply the bundle
  std::string token;               // of the admin API
  std::string server_ca;           // CA certificates to trust for `server`; "": those of the operating system
};

// Adds a fault to the reader for each rule that is broken.
ImportOptions read_import(program::ConfigReader& reader, const std::vector<std::string>& operands);

// Prints the bundle or what was changed to stdout, and to stderr what has no counterpart. Returns the exit code: 0, or
// 1 for an invalid file, for a call that failed, and with `strict` for anything without a counterpart.
int run_import(const ImportOptions& options);

}  // namespace sluice::server
