// Where boxes and edges of a drawing go: rows from top to bottom, each box
// below all that it reads. Internal to io.
//
// Sources: layers by longest paths, dummies and ordering by medians as in
// Gansner et al., "A Technique for Drawing Directed Graphs" (IEEE TSE 1993);
// positions in a row as least squares in the order found, solved by pooling
// adjacent violators.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/drawing.h>

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
  std::vector<Point> boxes;  ///< middle of the upper side
  /// One for each edge: it goes straight down from point 0 to 1, 2 to 3, ...
  /// and from each of these to the next as a curve; the last one is alone.
  std::vector<std::vector<Point>> edges;
  double width = 0;
  double height = 0;
};

/// REQUIRES: edges lead from lower indices to higher ones (check_drawing()).
/// Throws: UnsupportedError for more than 20000 boxes, or edges that pass more
/// than 200000 rows together.
Layout lay_out(const std::vector<BoxSize>& sizes,
               const std::vector<DrawnEdge>& edges);

/// Throws: ValueError for a box without layers, and for edges out of range or
/// not from a lower index to a higher one.
void check_drawing(const Drawing& drawing);

}  // namespace octet::io
