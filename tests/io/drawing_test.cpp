// Drawings of networks: contents of boxes, positions of Q/DQ points, and text
// that could break a picture.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/report.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>

#include "../facts.h"
#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Model drawn_int8(Model model) {
  Model int8 = quant::quantize_model(model);
  for (const auto& quantizer : quant::quantizers(int8)) {
    if (!quantizer->calibrated()) quantizer->set_scale(0.02f);
  }
  return int8;
}

std::vector<std::string> names_in(const DrawnBox& box) {
  std::vector<std::string> names;
  for (const DrawnLayer& layer : box.layers) names.push_back(layer.name);
  return names;
}

size_t box_with(const Drawing& drawing, const std::string& layer) {
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (const DrawnLayer& one : drawing.boxes[i].layers) {
      if (one.name == layer) return i;
    }
  }
  throw std::runtime_error("no box with " + layer);
}

/// conv -> BN -> Add of the input -> ReLU -> conv; H, W and C differ.
Model drawn_residual() {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 3, .padding = Padding::same, .name = "conv"})(x);
  y = BatchNormalization({.name = "norm"})(y);
  y = Add({.name = "sum"})({y, x});
  y = ReLU({.name = "relu"})(y);
  return Model(x, Conv2D({.filters = 17, .name = "last"})(y));
}

TEST(Drawing, AKernelIsOneBox) {
  const Drawing drawing = draw(drawn_int8(drawn_residual()));
  EXPECT_EQ(drawing.note, "");
  ASSERT_EQ(drawing.boxes.size(), 4u);
  EXPECT_THAT(names_in(drawing.boxes[1]),
              ElementsAre("conv", "norm", "sum", "relu"));
  EXPECT_EQ(drawing.boxes[1].precision, LayerPrecision::int8);
  EXPECT_EQ(drawing.boxes[1].layers[0].op, "Conv2D");
  EXPECT_EQ(drawing.boxes[1].layers[0].shape, "[N,6,5,3]");
  EXPECT_THAT(drawing.boxes[1].layers[0].weights,
              StartsWith("int8 [-127,127]"));
  EXPECT_EQ(drawing.boxes[1].layers[1].weights, "");
  EXPECT_EQ(drawing.boxes[2].precision, LayerPrecision::int8_to_float);
  EXPECT_THAT(drawing.boxes[2].reason, HasSubstr("output"));
  EXPECT_EQ(drawing.boxes[3].layers[0].op, "Output");
  EXPECT_EQ(drawing.boxes[3].precision, std::nullopt);
  // The convolution and the Add consume the input with the same scale.
  ASSERT_EQ(drawing.edges.size(), 3u);
  EXPECT_EQ(drawing.edges[0].to, 1u);
  EXPECT_THAT(numbers_in(drawing.edges[0].pair), ElementsAre(-128, 127, 0.02));
  EXPECT_EQ(drawing.edges[2].pair, "");
}

TEST(Drawing, LayersAloneHaveABoxEach) {
  const Drawing drawing = draw(drawn_int8(drawn_residual()), {.fuse = false});
  EXPECT_EQ(drawing.boxes.size(), 7u);
  EXPECT_EQ(drawing.boxes[box_with(drawing, "norm")].precision,
            LayerPrecision::int8);
  EXPECT_EQ(drawing.boxes[box_with(drawing, "x")].precision, std::nullopt);
}

TEST(Drawing, AFloatModelIsDrawnWithoutPoints) {
  const Drawing drawing = draw(drawn_residual());
  EXPECT_EQ(drawing.boxes.size(), 4u);
  EXPECT_EQ(drawing.boxes[1].precision, LayerPrecision::floating);
  for (const DrawnEdge& edge : drawing.edges) EXPECT_EQ(edge.pair, "");
  EXPECT_THAT(to_svg(drawing), Not(HasSubstr("og-dot\" ")));
}

TEST(Drawing, AModelThatIsNotCalibratedIsDrawnWithoutAForecast) {
  const Drawing drawing = draw(quant::quantize_model(drawn_residual()));
  EXPECT_THAT(drawing.note, Not(IsEmpty()));
  EXPECT_THAT(to_svg(drawing), HasSubstr("no forecast: "));
  EXPECT_EQ(drawing.boxes.size(), 7u);
  EXPECT_THAT(drawing.edges[0].pair, Not(IsEmpty()));
}

// The texts of a box equal octet lint's findings for the file.
TEST(Drawing, TheForecastMatchesLint) {
  for (const char* name : {"resnet8", "unet", "inception_small", "densenet40",
                           "mobilenet_v1_025", "vit_tiny"}) {
    const Model model = drawn_int8(zoo::make(name));
    const Drawing drawing = draw(model);
    std::map<std::string, LayerPrecision> expected;
    for (const LayerForecast& layer :
         lint_onnx_bytes(to_onnx(model).bytes).layers) {
      const auto [at, is_new] =
          expected.try_emplace(layer.node, layer.precision);
      at->second = std::min(at->second, layer.precision);
    }
    size_t found = 0;
    for (const DrawnBox& box : drawing.boxes) {
      // The exporter names a node like its layer, including the wrapper.
      for (const DrawnLayer& layer : box.layers) {
        auto at = expected.find(layer.name);
        if (at == expected.end()) at = expected.find("quant_" + layer.name);
        if (at == expected.end()) continue;
        ++found;
        if (layer.op == "ScaledDotProductAttention") continue;  // two boxes
        EXPECT_EQ(box.precision, at->second) << name << " " << layer.name;
      }
    }
    EXPECT_GT(found, 5u) << name;
    // Each layer, and the output, is drawn once.
    size_t layers = 0;
    for (const DrawnBox& box : drawing.boxes) layers += box.layers.size();
    EXPECT_EQ(layers, model.nodes().size() + 1) << name;
    EXPECT_THAT(to_svg(drawing), EndsWith("</svg>\n")) << name;
  }
}

// relu has two consumers: the next layers are another kernel.
TEST(Drawing, AValueWithSeveralConsumersEndsABox) {
  const auto model = lint_model(
      "(float[N,4,8,8] x) => (float[N,4,8,8] y, float[N,4,8,8] n)",
      pair("x", "xd") + weight_pairs("v") +
          "c = Conv <pads = [1,1,1,1]> (xd, vd)\n"
          "n = BatchNormalization (c, b, b, b, s4)\n r = Relu (n)\n" +
          pair("r", "y", "s1"));
  const TempFolder folder;
  write_file(folder / "a.onnx", model.SerializeAsString());
  const Drawing drawing = draw_onnx(folder / "a.onnx");
  EXPECT_THAT(names_in(drawing.boxes[box_with(drawing, "c")]),
              ElementsAre("c", "n"));
  EXPECT_THAT(names_in(drawing.boxes[box_with(drawing, "r")]),
              ElementsAre("r"));
}

TEST(Drawing, AFileShowsItsNodesAndCodes) {
  const TempFolder folder;
  (void)export_onnx(drawn_int8(drawn_residual()), folder / "a.onnx");
  const Drawing drawing = draw_onnx(folder / "a.onnx");
  EXPECT_EQ(drawing.title, "a.onnx");
  const DrawnBox& box = drawing.boxes[1];
  EXPECT_EQ(box.layers.size(), 4u);
  EXPECT_EQ(box.layers[0].op, "Conv");
  EXPECT_EQ(box.layers[0].shape, "[N,3,6,5]");
  EXPECT_EQ(box.layers[0].weights, "int8, 3 scales");
  EXPECT_EQ(drawing.edges[0].pair, "int8, scale 0.02");
  EXPECT_EQ(box.precision, LayerPrecision::int8);
  EXPECT_EQ(drawing.boxes.back().layers[0].name, "logits");
  EXPECT_EQ(failure_of<IoError>([&] { (void)draw_onnx(folder / "none.onnx"); }),
            (Failure{"file_not_found", (folder / "none.onnx").string()}));
}

const std::string kHostile = "<script>alert(\"x\")</script>&'\n\x1b[31m\\";

Drawing hostile_drawing() {
  Drawing drawing;
  drawing.title = kHostile;
  drawing.note = kHostile;
  for (int i = 0; i < 2; ++i) {
    drawing.boxes.push_back({{{kHostile, kHostile, kHostile, kHostile}},
                             LayerPrecision::int8,
                             kHostile});
  }
  drawing.edges.push_back({0, 1, kHostile});
  return drawing;
}

TEST(Drawing, TextOfModelsCannotBreakAPicture) {
  const std::string svg = to_svg(hostile_drawing());
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("alert(\"")));
  EXPECT_EQ(std::ranges::count(svg, '\x1b'), 0);
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(&quot;x&quot;)&lt;/script"));
  const std::string dot = to_dot(hostile_drawing());
  EXPECT_THAT(dot, HasSubstr("<script>alert(\\\"x\\\")</script>&amp;'"));
  EXPECT_THAT(dot, HasSubstr("\\\\"));
  EXPECT_EQ(std::ranges::count(dot, '\x1b'), 0);
}

TEST(Drawing, LongNamesAreCutBetweenCharacters) {
  Drawing drawing;
  std::string name;
  for (int i = 0; i < 60; ++i) name += "\u00e9";
  drawing.boxes.push_back({{{name, "Conv2D", "[N,1]"}}});
  const std::string svg = to_svg(drawing);
  std::string cut;
  for (int i = 0; i < 39; ++i) cut += "\u00e9";
  EXPECT_THAT(svg, HasSubstr(">" + cut + "\u2026</tspan>"));
  EXPECT_THAT(svg, HasSubstr(name));  // in the tooltip
}

TEST(Drawing, InvalidDrawingsAreRejected) {
  Drawing drawing;
  drawing.boxes.push_back({{{"a", "b", ""}}});
  drawing.edges.push_back({0, 1, ""});
  for (const auto write : {to_svg, to_dot}) {
    EXPECT_EQ(failure_of<ValueError>([&] { (void)write(drawing); }),
              (Failure{"invalid_value", "drawing"}));
  }
  drawing.edges[0] = {0, 0, ""};
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_svg(drawing); }),
            (Failure{"invalid_value", "drawing"}));
  drawing.edges.clear();
  drawing.boxes.emplace_back();
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_dot(drawing); }),
            (Failure{"invalid_value", "drawing"}));
  EXPECT_THAT(to_svg({}), EndsWith("</svg>\n"));
}

/// Returns the characters of a UTF-8 text that XML 1.0 does not allow.
int forbidden_in_xml(const std::string& text) {
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](size_t k) {
      return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
    };
    const unsigned lead = at(i);
    const bool control =
        lead < 0x20 && lead != '\t' && lead != '\n' && lead != '\r';
    const bool surrogate = lead == 0xed && at(i + 1) >= 0xa0;
    const bool no_character =
        lead == 0xef && at(i + 1) == 0xbf && at(i + 2) >= 0xbe;
    count += control || surrogate || no_character || lead >= 0xf8;
  }
  return count;
}

TEST(Drawing, NamesOfAnyBytesAreValidXml) {
  std::string name;
  for (const char* part :
       {"\x01\x08\x0b\x1f\x7f", "\xc2\x80\xc2\x9b", "\xef\xbf\xbe",
        "\xef\xbf\xbf", "\xed\xa0\x80", "\xff", "\xe2\x80\xae", "]]>",
        "</text>", "&#xFFFF;", "\xf0\x9f\xbf\xbf"}) {
    name += part;
  }
  const SymbolicTensor x = input({3}, name + "x");
  const Drawing drawing = draw(Model(x, ReLU({.name = name})(x)));
  const std::string svg = to_svg(drawing);
  EXPECT_EQ(forbidden_in_xml(svg), 0);
  EXPECT_THAT(svg, Not(HasSubstr("</text>]")));
  EXPECT_EQ(forbidden_in_xml(to_dot(drawing)), 0);
}

}  // namespace
}  // namespace octet::io
