// Layout of a drawing: rows from top to bottom, each box below its inputs.
// Internal to io.
//
// Sources: layers by longest paths, dummies and ordering by medians as in
// Gansner et al., "A Technique for Drawing Directed Graphs" (IEEE TSE 1993);
// positions in a row by least squares in the given order, solved by pooling
// adjacent violators.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/report.h>

namespace octet::io {

struct BoxSize {
  double width = 0;
  double height = 0;
};

struct Point {
  double x = 0;
  double y = 0;
};

struct Layout {
  std::vector<Point> boxes;  ///< center of the upper side
  /// Path of each edge: straight down from point 0 to 1, 2 to 3, ..., connected
  /// by curves; the last point is single.
  std::vector<std::vector<Point>> edges;
  double width = 0;
  double height = 0;
};

/// REQUIRES: edges lead from lower indices to higher ones (check_drawing()).
/// Throws: UnsupportedError for more than 20000 boxes, or edges that pass more
/// than 200000 rows in total.
Layout lay_out(const std::vector<BoxSize>& sizes,
               const std::vector<DrawnEdge>& edges);

/// Throws: ValueError for a box without layers, and for edges out of range or
/// not from a lower index to a higher one.
void check_drawing(const Drawing& drawing);

}  // namespace octet::io
