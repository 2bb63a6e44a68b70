// Raises the limit of file descriptors, and computes how many client connections may be open. The other descriptors are
// kept for probes, Redis and files.
#pragma once

#include <cstddef>

namespace sluice::program {

// Raises the soft limit of open files to the hard limit, if the kernel allows it. Returns the limit in force.
std::size_t raise_descriptor_limit();

// Returns at least 1 and at most `max_connections`. REQUIRES: workers ≥ 1.
std::size_t connections_per_worker(std::size_t descriptors, std::size_t workers, std::size_t max_connections);

}  // namespace sluice::program
