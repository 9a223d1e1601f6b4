#include "order.h"

#include <algorithm>

namespace octet::io {
namespace {

constexpr int kOrderSweeps = 24;

using Rows = std::vector<std::vector<size_t>>;

void note_places(const std::vector<size_t>& row, std::vector<size_t>& place) {
  for (size_t i = 0; i < row.size(); ++i) place[row[i]] = i;
}

/// Counts pairs (a before b) with place[a] > place[b], with a binary indexed
/// tree.
int64_t inversions(const std::vector<size_t>& places, size_t size) {
  std::vector<int64_t> tree(size + 1, 0);
  int64_t count = 0, seen = 0;
  for (const size_t place : places) {
    int64_t not_greater = 0;
    for (size_t i = place + 1; i > 0; i &= i - 1) not_greater += tree[i];
    count += seen - not_greater;
    for (size_t i = place + 1; i <= size; i += i & (~i + 1)) ++tree[i];
    ++seen;
  }
  return count;
}

/// Sorts by the mean position of neighbors in the joined row; items without
/// neighbors keep their positions.
void sort_by_neighbours(std::vector<size_t>& row, const Rows& joined,
                        std::vector<size_t>& place) {
  std::vector<std::pair<double, size_t>> keys;
  for (const size_t item : row) {
    double sum = 0;
    for (const size_t other : joined[item]) {
      sum += static_cast<double>(place[other]);
    }
    keys.emplace_back(joined[item].empty()
                          ? static_cast<double>(place[item])
                          : sum / static_cast<double>(joined[item].size()),
                      item);
  }
  std::ranges::stable_sort(keys, {}, [](const auto& key) { return key.first; });
  for (size_t i = 0; i < row.size(); ++i) row[i] = keys[i].second;
  note_places(row, place);
}

}  // namespace

int64_t crossings(const Rows& rows, const Rows& below) {
  std::vector<size_t> place(below.size());
  for (const auto& row : rows) note_places(row, place);
  int64_t count = 0;
  for (size_t r = 0; r + 1 < rows.size(); ++r) {
    std::vector<size_t> ends;
    for (const size_t item : rows[r]) {
      const size_t first = ends.size();
      for (const size_t to : below[item]) ends.push_back(place[to]);
      std::sort(ends.begin() + static_cast<std::ptrdiff_t>(first), ends.end());
    }
    count += inversions(ends, rows[r + 1].size());
  }
  return count;
}

void order_rows(Rows& rows, const Rows& above, const Rows& below) {
  std::vector<size_t> place(below.size());
  for (const auto& row : rows) note_places(row, place);
  Rows best = rows;
  int64_t fewest = crossings(rows, below);
  for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
    if (sweep % 2 == 0) {
      for (auto& row : rows) sort_by_neighbours(row, above, place);
    } else {
      for (size_t r = rows.size(); r-- > 0;) {
        sort_by_neighbours(rows[r], below, place);
      }
    }
    const int64_t count = crossings(rows, below);
    if (count < fewest) {
      fewest = count;
      best = rows;
    }
  }
  rows = std::move(best);
}

}  // namespace octet::io
