// Layout of boxes and edges: invariants of any picture, on random graphs.
#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drawing/layout.h"
#include "drawing/order.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

using Rows = std::vector<std::vector<size_t>>;

struct RandomGraph {
  std::vector<BoxSize> sizes;
  std::vector<DrawnEdge> edges;
};

RandomGraph random_graph(unsigned seed) {
  std::mt19937 random(seed);
  RandomGraph graph;
  const size_t count = 2 + random() % 60;
  for (size_t i = 0; i < count; ++i) {
    const auto some = [&](unsigned most) {
      return 20 + static_cast<double>(random() % most);
    };
    graph.sizes.push_back({some(300), some(90)});
    // Mostly short edges as in networks, and some long ones.
    for (size_t k = random() % 4; i > 0 && k > 0; --k) {
      const size_t reach = random() % 5 == 0 ? i : std::min<size_t>(i, 4);
      graph.edges.push_back({i - 1 - random() % reach, i});
    }
  }
  return graph;
}

bool boxes_meet(Point a, BoxSize as, Point b, BoxSize bs) {
  return std::abs(a.x - b.x) < (as.width + bs.width) / 2 - 1e-6 &&
         a.y < b.y + bs.height - 1e-6 && b.y < a.y + as.height - 1e-6;
}

TEST(DrawingLayout, BoxesDoNotOverlapAndEdgesAvoidThem) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomGraph graph = random_graph(seed);
    const Layout layout = lay_out(graph.sizes, graph.edges);
    for (size_t i = 0; i < graph.sizes.size(); ++i) {
      const double half = graph.sizes[i].width / 2;
      ASSERT_GE(layout.boxes[i].x - half, -1e-6);
      ASSERT_LE(layout.boxes[i].x + half, layout.width + 1e-6);
      ASSERT_LE(layout.boxes[i].y + graph.sizes[i].height,
                layout.height + 1e-6);
      for (size_t k = 0; k < i; ++k) {
        ASSERT_FALSE(boxes_meet(layout.boxes[i], graph.sizes[i],
                                layout.boxes[k], graph.sizes[k]))
            << "seed " << seed << ", boxes " << i << " and " << k;
      }
    }
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      const auto& line = layout.edges[e];
      const auto& [from, to, pair] = graph.edges[e];
      ASSERT_EQ(line.size() % 2, 1u);
      EXPECT_EQ(line.front().y,
                layout.boxes[from].y + graph.sizes[from].height);
      EXPECT_EQ(line.back().y, layout.boxes[to].y);
      EXPECT_LE(std::abs(line.back().x - layout.boxes[to].x),
                graph.sizes[to].width / 2);
      for (size_t p = 1; p < line.size(); ++p) {
        ASSERT_GE(line[p].y, line[p - 1].y);
        if (p % 2 == 0) continue;
        ASSERT_EQ(line[p].x, line[p - 1].x);
        for (size_t k = 0; k < graph.sizes.size(); ++k) {
          const double y = (line[p].y + line[p - 1].y) / 2;
          const Point middle{line[p].x, y};
          if (line[p].y == line[p - 1].y) continue;
          ASSERT_FALSE(boxes_meet(middle, {}, layout.boxes[k], graph.sizes[k]))
              << "seed " << seed << ", edge " << e << " through box " << k;
        }
      }
    }
  }
}

TEST(DrawingLayout, AChainIsStraight) {
  const std::vector<BoxSize> sizes(5, {100, 30});
  const Layout layout = lay_out(sizes, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  for (const Point& box : layout.boxes) EXPECT_NEAR(box.x, 50, 1e-9);
  EXPECT_EQ(layout.width, 100);
}

TEST(DrawingLayout, AnEmptyGraphIsAPicture) {
  EXPECT_EQ(lay_out({}, {}).height, 0);
  EXPECT_EQ(lay_out({{40, 20}}, {}).width, 40);
}

// A node without inputs is placed above its consumer, not at the top.
TEST(DrawingLayout, AnInputOfALateLayerIsPlacedAboveIt) {
  const std::vector<BoxSize> sizes(5, {100, 30});
  const Layout layout = lay_out(sizes, {{0, 1}, {1, 2}, {2, 4}, {3, 4}});
  EXPECT_EQ(layout.boxes[3].y, layout.boxes[2].y);
}

TEST(DrawingLayout, CountsCrossingPairsOfEdges) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const size_t upper = 1 + random() % 8, lower = 1 + random() % 8;
    Rows rows(2), below(upper + lower);
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t i = 0; i < upper + lower; ++i) {
      rows[i < upper ? 0 : 1].push_back(i);
    }
    for (size_t k = random() % 20; k > 0; --k) {
      const size_t a = random() % upper, b = upper + random() % lower;
      below[a].push_back(b);
      edges.emplace_back(a, b);
    }
    int64_t expected = 0;
    for (const auto& [a, b] : edges) {
      for (const auto& [c, d] : edges) expected += a < c && b > d ? 1 : 0;
    }
    EXPECT_EQ(crossings(rows, below), expected);
  }
}

TEST(DrawingLayout, TwistedRowsAreUntwisted) {
  Rows rows{{0, 1, 2}, {3, 4, 5}};
  const Rows below{{5}, {4}, {3}, {}, {}, {}};
  const Rows above{{}, {}, {}, {2}, {1}, {0}};
  EXPECT_EQ(crossings(rows, below), 3);
  order_rows(rows, above, below);
  EXPECT_EQ(crossings(rows, below), 0);
}

TEST(DrawingLayout, GraphsThatAreTooLargeAreRejected) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)lay_out(std::vector<BoxSize>(20001, {1, 1}), {});
            }),
            (Failure{"size_limit", "drawing"}));
  // A chain in which every box has edges from all previous boxes.
  std::vector<DrawnEdge> edges;
  for (size_t i = 0; i < 200; ++i) {
    for (size_t k = 0; k < i; ++k) edges.push_back({k, i});
  }
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)lay_out(std::vector<BoxSize>(200, {1, 1}), edges);
            }),
            (Failure{"size_limit", "drawing"}));
}

}  // namespace
}  // namespace octet::io
