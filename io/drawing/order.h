// The order of items within the rows of a layout. Internal to io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::io {

/// Edges between neighbouring rows that cross. `below` has for each item those
/// of the next row that it is joined with.
int64_t crossings(const std::vector<std::vector<size_t>>& rows,
                  const std::vector<std::vector<size_t>>& below);

/// Permutes each row so that few edges cross: sweeps down and up by
/// barycentres, of which the best stays.
void order_rows(std::vector<std::vector<size_t>>& rows,
                const std::vector<std::vector<size_t>>& above,
                const std::vector<std::vector<size_t>>& below);

}  // namespace octet::io
