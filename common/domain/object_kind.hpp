// The kinds of object that policies are made of, wherever they are listed, sent or compiled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// In the order in which a bundle needs them: what is referred to comes first. `settings`: what stands at a bundle's
// top, of which there is one.
enum class ObjectKind : std::uint8_t { settings, organization, tenant, plan, policy, key };
inline constexpr std::size_t kObjectKinds = 6;

}  // namespace sluice
