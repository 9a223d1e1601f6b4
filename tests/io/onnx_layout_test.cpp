// ONNX form of data movement layers: NHWC axes become NCHW, and training-only
// layers emit no node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>

namespace octet::io {
namespace {

using ::testing::ElementsAre;

onnx::ModelProto proto_of(const SymbolicTensor& x, const SymbolicTensor& y) {
  onnx::ModelProto proto;
  proto.ParseFromString(to_onnx(Model(x, y)).bytes);
  return proto;
}

std::vector<std::string> ops(const onnx::ModelProto& proto) {
  std::vector<std::string> result;
  for (const auto& node : proto.graph().node())
    result.push_back(node.op_type());
  return result;
}

const onnx::AttributeProto& attribute(const onnx::ModelProto& proto,
                                      const std::string& name) {
  for (const auto& node : proto.graph().node()) {
    for (const auto& each : node.attribute()) {
      if (each.name() == name) return each;
    }
  }
  throw std::runtime_error("no attribute " + name);
}

TEST(OnnxLayout, ConcatenatesImagesAlongTheNchwAxis) {
  const SymbolicTensor x = input({4, 6, 3});
  const auto axis = [&](int64_t keras) {
    const auto proto = proto_of(x, Concatenate({.axis = keras})({x, x}));
    return attribute(proto, "axis").i();
  };
  EXPECT_EQ(axis(-1), 1);
  EXPECT_EQ(axis(3), 1);
  EXPECT_EQ(axis(1), 2);
  EXPECT_EQ(axis(2), 3);
}

TEST(OnnxLayout, PermutesImagesWithOneTranspose) {
  const SymbolicTensor x = input({4, 6, 3});
  const auto proto = proto_of(x, Permute({.dims = {3, 1, 2}})(x));
  EXPECT_THAT(ops(proto), ElementsAre("Transpose"));
  // Rows are now c, columns h and channels w: NCHW is [n,w,c,h].
  EXPECT_THAT(attribute(proto, "perm").ints(), ElementsAre(0, 3, 1, 2));
}

TEST(OnnxLayout, TransposesForReshapeOnlyWhereTheOrderDiffers) {
  const SymbolicTensor image = input({4, 6, 3});
  EXPECT_THAT(ops(proto_of(image, Reshape({.target_shape = {24, 3}})(image))),
              ElementsAre("Transpose", "Reshape"));
  EXPECT_THAT(ops(proto_of(image, Reshape({.target_shape = {6, 4, 3}})(image))),
              ElementsAre("Transpose", "Reshape", "Transpose"));
  const SymbolicTensor row = input({17});
  EXPECT_THAT(ops(proto_of(row, Reshape({.target_shape = {1, 1, 17}})(row))),
              ElementsAre("Reshape"));
}

TEST(OnnxLayout, DoesNotCountPaddingInAveragePooling) {
  const SymbolicTensor x = input({4, 6, 3});
  const auto proto = proto_of(
      x, AveragePooling2D({.pool_size = {3, 3}, .padding = Padding::same})(x));
  EXPECT_EQ(attribute(proto, "count_include_pad").i(), 0);
}

TEST(OnnxLayout, FlattensGlobalPoolingUnlessAxesAreKept) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_THAT(ops(proto_of(x, GlobalAveragePooling2D()(x))),
              ElementsAre("GlobalAveragePool", "Flatten"));
  EXPECT_THAT(ops(proto_of(x, GlobalMaxPooling2D({.keepdims = true})(x))),
              ElementsAre("GlobalMaxPool"));
}

TEST(OnnxLayout, ResizesLikeKeras) {
  const SymbolicTensor x = input({4, 6, 3});
  const auto nearest = proto_of(x, UpSampling2D()(x));
  EXPECT_EQ(attribute(nearest, "mode").s(), "nearest");
  EXPECT_EQ(attribute(nearest, "coordinate_transformation_mode").s(),
            "asymmetric");
  EXPECT_EQ(attribute(nearest, "nearest_mode").s(), "floor");
  const auto linear =
      proto_of(x, UpSampling2D({.interpolation = "bilinear"})(x));
  EXPECT_EQ(attribute(linear, "mode").s(), "linear");
  EXPECT_EQ(attribute(linear, "coordinate_transformation_mode").s(),
            "half_pixel");
}

TEST(OnnxLayout, PadsAndCropsRowsAndColumns) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_THAT(ops(proto_of(x, Cropping2D({.cropping = {1, 0, 2, 1}})(
                                  ZeroPadding2D()(x)))),
              ElementsAre("Pad", "Slice"));
}

TEST(OnnxLayout, SkipsTrainingOnlyLayers) {
  const SymbolicTensor x = input({4, 6, 3});
  const SymbolicTensor y =
      GaussianNoise()(SpatialDropout2D()(Dropout()(ReLU()(x))));
  const auto proto = proto_of(x, ReLU()(y));
  EXPECT_THAT(ops(proto), ElementsAre("Relu", "Relu"));
}

}  // namespace
}  // namespace octet::io
