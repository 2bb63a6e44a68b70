// From the configuration of another limiter to a bundle of Sluice.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/imports/draft.hpp"

namespace sluice::server::imports {

struct Importer {
  std::string_view name;   // FROM of the command line
  std::string_view reads;  // what its files are, for --help
  // Reads all sources together, because one may refer to another.
  void (*read)(std::span<const Source> sources, Draft& draft);
};

std::span<const Importer> importers();
// Returns nullptr if there is none of this name.
const Importer* find_importer(std::string_view name);
// "envoy-ratelimit, limitador, …", for error texts.
std::string importer_names();

struct Imported {
  std::string bundle;  // `sluice/v1` as JSON: the policies, in their tenant; no list of tenants
  std::size_t policies = 0;
  std::vector<Note> notes;              // sorted by place
  std::vector<std::string> dimensions;  // what checks must or may send, as "source_ip" or "attr.host"; sorted
};

// The result is valid by the rules of every bundle. `tenant_id`: who gets the policies.
std::expected<Imported, std::vector<SourceFault>> import_sources(const Importer& importer,
                                                                 std::span<const Source> sources,
                                                                 std::string_view tenant_id);

// "FILE:LINE: WHAT: WHY; INSTEAD", without a line if it is unknown.
std::string describe(const Note& note, std::span<const Source> sources);
std::string describe(const SourceFault& fault, std::span<const Source> sources);

}  // namespace sluice::server::imports
