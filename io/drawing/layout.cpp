#include "layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "order.h"

namespace octet::io {
namespace {

constexpr size_t kMostBoxes = 20000;
constexpr size_t kMostDummies = 200000;
constexpr double kGapX = 26;     // between boxes of a row
constexpr double kLineGap = 14;  // beside a passing edge
constexpr double kGapY = 46;     // between rows
constexpr int kPlaceSweeps = 40;
constexpr double kUpright = 0.1;

/// Assigns rows by longest paths; sources are placed right above their first
/// consumer.
std::vector<size_t> rows_of(size_t count, const std::vector<DrawnEdge>& edges) {
  std::vector<size_t> row(count, 0), lowest(count, count);
  std::vector<std::vector<size_t>> reads(count);
  for (const DrawnEdge& edge : edges) reads[edge.to].push_back(edge.from);
  for (size_t i = 0; i < count; ++i) {
    for (const size_t from : reads[i]) row[i] = std::max(row[i], row[from] + 1);
  }
  for (size_t i = 0; i < count; ++i) {
    for (const size_t from : reads[i]) {
      lowest[from] = std::min(lowest[from], row[i] - 1);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (reads[i].empty() && lowest[i] < count) row[i] = lowest[i];
  }
  return row;
}

/// Boxes, and dummies for edges that pass a row, row by row.
class Grid {
 public:
  Grid(const std::vector<BoxSize>& sizes, const std::vector<DrawnEdge>& edges)
      : sizes_(sizes) {
    const std::vector<size_t> row = rows_of(sizes.size(), edges);
    rows_.resize(row.empty() ? 0 : *std::ranges::max_element(row) + 1);
    for (size_t i = 0; i < sizes.size(); ++i) add(row[i]);
    for (const DrawnEdge& edge : edges) {
      std::vector<size_t>& path = paths_.emplace_back();
      path.push_back(edge.from);
      for (size_t r = row[edge.from] + 1; r < row[edge.to]; ++r) {
        if (above_.size() - sizes.size() >= kMostDummies) {
          throw UnsupportedError(
              "size_limit", "drawing",
              fmt::format(
                  "edges pass more than {} rows in total. Hint: use to_dot()",
                  kMostDummies));
        }
        path.push_back(add(r));
      }
      path.push_back(edge.to);
      for (size_t k = 1; k < path.size(); ++k) {
        below_[path[k - 1]].push_back(path[k]);
        above_[path[k]].push_back(path[k - 1]);
      }
    }
  }

  Layout laid_out() {
    order_rows(rows_, above_, below_);
    place();
    return finished();
  }

 private:
  size_t add(size_t row) {
    rows_[row].push_back(above_.size());
    above_.emplace_back();
    below_.emplace_back();
    return above_.size() - 1;
  }

  bool is_dummy(size_t item) const { return item >= sizes_.size(); }
  double width(size_t item) const {
    return is_dummy(item) ? 0 : sizes_[item].width;
  }
  /// Minimum distance between the centers of neighbors.
  double distance(size_t left, size_t right) const {
    const bool line = is_dummy(left) || is_dummy(right);
    return (width(left) + width(right)) / 2 + (line ? kLineGap : kGapX);
  }
  /// Weight of an edge's straightness.
  double stiffness(size_t a, size_t b) const {
    return is_dummy(a) && is_dummy(b) ? 8 : 1;
  }

  /// Places the items of a row as close as possible to their wanted positions,
  /// in least squares, keeping order and minimum distances.
  void settle(const std::vector<size_t>& row, const std::vector<double>& wanted,
              const std::vector<double>& weight) {
    struct Block {
      double sum, weight;
      size_t count;
      double mean() const { return sum / weight; }
    };
    // After subtracting distances, positions must not decrease.
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 1; i < row.size(); ++i) {
      offset[i] = offset[i - 1] + distance(row[i - 1], row[i]);
    }
    std::vector<Block> blocks;
    for (size_t i = 0; i < row.size(); ++i) {
      Block block{weight[i] * (wanted[i] - offset[i]), weight[i], 1};
      while (!blocks.empty() && blocks.back().mean() >= block.mean()) {
        block.sum += blocks.back().sum;
        block.weight += blocks.back().weight;
        block.count += blocks.back().count;
        blocks.pop_back();
      }
      blocks.push_back(block);
    }
    size_t i = 0;
    for (const Block& block : blocks) {
      for (size_t k = 0; k < block.count; ++k, ++i) {
        x_[row[i]] = block.mean() + offset[i];
      }
    }
  }

  void pull(const std::vector<size_t>& row, bool up, bool down) {
    std::vector<double> wanted, weight;
    for (const size_t item : row) {
      double sum = 0, total = 0;
      const auto look = [&](const std::vector<size_t>& others) {
        for (const size_t other : others) {
          const double s = stiffness(item, other);
          sum += s * x_[other];
          total += s;
        }
      };
      if (up) look(above_[item]);
      if (down) look(below_[item]);
      // A small pull to the center keeps long networks upright.
      total += kUpright;
      wanted.push_back(sum / total);
      weight.push_back(total);
    }
    settle(row, wanted, weight);
  }

  void place() {
    x_.assign(above_.size(), 0);
    for (const auto& row : rows_) {
      double x = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) x += distance(row[i - 1], row[i]);
        x_[row[i]] = x;
      }
      for (const size_t item : row) x_[item] -= x / 2;
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool both = sweep >= kPlaceSweeps / 2;
      for (size_t r = 0; r < rows_.size(); ++r) pull(rows_[r], true, both);
      for (size_t r = rows_.size(); r-- > 0;) pull(rows_[r], both, true);
    }
    for (const auto& row : rows_) straighten(row);
  }

  /// Places items with a single input right below it, if they are near and
  /// their neighbors leave the space.
  void straighten(const std::vector<size_t>& row) {
    constexpr double kReach = 40;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t item = row[i];
      if (above_[item].size() != 1) continue;
      const double x = x_[above_[item][0]];
      const bool fits =
          (i == 0 || x - x_[row[i - 1]] >= distance(row[i - 1], item)) &&
          (i + 1 == row.size() ||
           x_[row[i + 1]] - x >= distance(item, row[i + 1]));
      if (fits && std::abs(x - x_[item]) <= kReach) x_[item] = x;
    }
  }

  /// Spreads the ends of edges over a side of each box, in the order of their
  /// other ends.
  void spread(const std::vector<DrawnEdge>& edges, bool at_top,
              Layout& layout) const {
    constexpr double kApart = 12;
    std::vector<std::vector<size_t>> at(sizes_.size());
    for (size_t e = 0; e < edges.size(); ++e) {
      at[at_top ? edges[e].to : edges[e].from].push_back(e);
    }
    const auto shift = [&](size_t e, double by) {
      std::vector<Point>& line = layout.edges[e];
      if (at_top) {
        line.back().x += by;
      } else {
        line[0].x += by;
        line[1].x += by;
      }
    };
    const auto other = [&](size_t e) {
      const auto& path = paths_[e];
      return x_[at_top ? path[path.size() - 2] : path[1]];
    };
    for (size_t box = 0; box < at.size(); ++box) {
      std::ranges::stable_sort(at[box], {}, other);
      const double count = static_cast<double>(at[box].size());
      const double apart = std::min(kApart, 0.8 * sizes_[box].width / count);
      for (size_t i = 0; i < at[box].size(); ++i) {
        shift(at[box][i], apart * (static_cast<double>(i) - (count - 1) / 2));
      }
    }
  }

  Layout finished() {
    Layout layout;
    double left = std::numeric_limits<double>::infinity(), right = -left;
    if (x_.empty()) left = right = 0;
    for (size_t i = 0; i < x_.size(); ++i) {
      left = std::min(left, x_[i] - width(i) / 2);
      right = std::max(right, x_[i] + width(i) / 2);
    }
    std::vector<double> top(x_.size()), row_height(x_.size());
    double y = 0;
    for (const auto& row : rows_) {
      double tallest = 0;
      for (const size_t item : row) {
        if (!is_dummy(item)) tallest = std::max(tallest, sizes_[item].height);
      }
      for (const size_t item : row) {
        top[item] = y;
        row_height[item] = tallest;
      }
      y += tallest + kGapY;
    }
    for (size_t i = 0; i < sizes_.size(); ++i) {
      layout.boxes.push_back({x_[i] - left, top[i]});
    }
    std::vector<DrawnEdge> ends;
    for (const auto& path : paths_) {
      ends.push_back({path.front(), path.back()});
      std::vector<Point>& line = layout.edges.emplace_back();
      for (size_t k = 0; k + 1 < path.size(); ++k) {
        const size_t item = path[k];
        const double x = x_[item] - left;
        line.push_back({x, top[item] + (k == 0 ? sizes_[item].height : 0)});
        line.push_back({x, top[item] + row_height[item]});
      }
      line.push_back({x_[path.back()] - left, top[path.back()]});
    }
    spread(ends, false, layout);
    spread(ends, true, layout);
    layout.width = right - left;
    layout.height = std::max(0.0, y - kGapY);
    return layout;
  }

  const std::vector<BoxSize>& sizes_;
  std::vector<std::vector<size_t>> rows_, above_, below_, paths_;
  std::vector<double> x_;  // of centers
};

}  // namespace

void check_drawing(const Drawing& drawing) {
  const size_t count = drawing.boxes.size();
  for (size_t i = 0; i < count; ++i) {
    if (!drawing.boxes[i].layers.empty()) continue;
    throw ValueError("invalid_value", "drawing",
                     fmt::format("box {} has no layers", i));
  }
  for (const DrawnEdge& edge : drawing.edges) {
    if (edge.from < edge.to && edge.to < count) continue;
    throw ValueError(
        "invalid_value", "drawing",
        fmt::format("edges must lead to a later one of {} boxes, got {} -> {}",
                    count, edge.from, edge.to));
  }
}

Layout lay_out(const std::vector<BoxSize>& sizes,
               const std::vector<DrawnEdge>& edges) {
  if (sizes.size() > kMostBoxes) {
    throw UnsupportedError(
        "size_limit", "drawing",
        fmt::format("must have at most {} boxes, got {}. Hint: use to_dot()",
                    kMostBoxes, sizes.size()));
  }
  return Grid(sizes, edges).laid_out();
}

}  // namespace octet::io
