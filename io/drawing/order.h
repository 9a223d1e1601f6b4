// Order of items within the rows of a layout. Internal to io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::io {

/// Counts crossings of edges between adjacent rows. `below` has the neighbors
/// of each item in the next row.
int64_t crossings(const std::vector<std::vector<size_t>>& rows,
                  const std::vector<std::vector<size_t>>& below);

/// Permutes each row to reduce crossings: sweeps down and up by barycenters,
/// and keeps the best order.
void order_rows(std::vector<std::vector<size_t>>& rows,
                const std::vector<std::vector<size_t>>& above,
                const std::vector<std::vector<size_t>>& below);

}  // namespace octet::io
