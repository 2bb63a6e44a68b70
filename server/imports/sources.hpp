// The importers' functions, for the table in imports.cpp. Each reads all sources and fills the draft.
#pragma once

#include <span>

#include "server/imports/draft.hpp"

namespace sluice::server::imports {

void read_envoy_ratelimit(std::span<const Source> sources, Draft& draft);
void read_limitador(std::span<const Source> sources, Draft& draft);
void read_kong(std::span<const Source> sources, Draft& draft);
void read_gubernator(std::span<const Source> sources, Draft& draft);
void read_nginx(std::span<const Source> sources, Draft& draft);
void read_traefik(std::span<const Source> sources, Draft& draft);

}  // namespace sluice::server::imports
