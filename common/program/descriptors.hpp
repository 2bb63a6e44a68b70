// File descriptors: as many as the system grants, and some kept for what must not wait for clients to leave.
#pragma once

#include <cstddef>

namespace sluice::program {

// Raises the process' limit of open files as far as it may. Returns the limit now in force.
std::size_t raise_descriptor_limit();

// How many connections each of `workers` (≥ 1) may hold where so many descriptors exist: at least 1, at most `most`.
// The rest serves listeners, probes, Redis and files.
std::size_t connections_per_worker(std::size_t descriptors, std::size_t workers, std::size_t most);

}  // namespace sluice::program
