// Raises the limit of file descriptors, and computes how many of them client connections may use. The rest is kept for
// work that must not fail while clients hold connections: probes, Redis, reading files.
#pragma once

#include <cstddef>

namespace sluice::program {

// Raises the soft limit of open files to the hard limit, if the kernel allows it. Returns the limit in force.
std::size_t raise_descriptor_limit();

// How many connections each of `workers` (≥ 1) may hold if the process may open `descriptors` files. The result is at
// least 1 and at most `max_connections`.
std::size_t connections_per_worker(std::size_t descriptors, std::size_t workers, std::size_t max_connections);

}  // namespace sluice::program
