// Einsum and products of values in import.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/runtime/rng.h>

#include "import_refusal.h"
#include "onnx_models.h"

namespace octet::io {
namespace {

TEST(OnnxImportProducts, SaysWhichEquationsAreProducts) {
  const auto said = [](const std::string& equation,
                       const std::string& output = "N,A,B,C") {
    return import_refusal(graph_model(
        "(float[N,2,5,7] x, float[N,2,7,4] w) => (float[" + output + "] y)",
        "y = Einsum <equation = \"" + equation + "\"> (x, w)"));
  };
  EXPECT_EQ(said("nhij,nhjk->nhik").code, "no error");
  EXPECT_EQ(said("nhij, nhjk -> nikh").code, "no error");
  EXPECT_EQ(said("...ij,...jk->...ik").code, "no error");
  EXPECT_EQ(said("nhij,nhjk->nik", "N,A,B").code, "no error");
  EXPECT_EQ(said("nhij,nhjk->nhijk", "N,A,B,C,D").code, "no error");
  EXPECT_EQ(said("nhij,nhkl->nhijkl", "N,A,B,C,D,E").code, "no error");
  EXPECT_EQ(said("nhij,nhjk"),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));  // ->ik
  for (const char* other :
       {"nhij,nhjk->nhk", "nhij->nh", "nhii,nhjk->nhik", "nhij,nhjk->nhiq",
        "nhij,nhjk->nnik", "nhij,nhlj->nhil", "hij,hjk->hik", "n1ij,n1jk->n1ik",
        "..nij,nhjk->nik", "nhij,nhjk,nhkl->nhil", "", ",->", "->"}) {
    EXPECT_EQ(said(other),
              (Failure{"unsupported_operator", "node 'y' (Einsum)"}))
        << other;
  }
  EXPECT_EQ(said("nhij,mhjk->nmik"),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,nhjk->ik"),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
}

TEST(OnnxImportProducts, KeepsSamplesApartInEquationsWithConstants) {
  const auto said = [](const std::string& equation,
                       const std::vector<int64_t>& dims,
                       const std::string& batch = "N") {
    onnx::ModelProto model =
        graph_model("(float[" + batch + ",2,5,7] x) => (float[A,B,C,D] y)",
                    "y = Einsum <equation = \"" + equation + "\"> (x, w)");
    add_noise(model, "w", dims);
    return import_refusal(model);
  };
  EXPECT_EQ(said("nhij,jk->nhik", {7, 4}).code, "no error");
  EXPECT_EQ(said("nhij,nhjk->nhik", {1, 2, 7, 4}).code, "no error");
  EXPECT_EQ(said("nhij,jk->nhik", {5, 4}),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,ijk->nhk", {7, 5, 4}),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,hjk->nhik", {3, 7, 4}),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,nk->khij", {3, 4}),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,nk->khij", {3, 4}, "3").code, "no error");  // one sample
  EXPECT_EQ(said("nhij,nhjk->nhik", {3, 2, 7, 4}, "3"),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
  EXPECT_EQ(said("nhij,nk->nhijk", {3, 4}),
            (Failure{"unsupported_operator", "node 'y' (Einsum)"}));
}

TEST(OnnxImportProducts, QuantizesQueriesBeforeTheyAreScaled) {
  const onnx::ModelProto file =
      graph_model("(float[N,4,5] x) => (float[N,4,5] y)",
                  "step = Constant <value_float = 0.5> ()\n"
                  "none = Constant <value = int8 {0}> ()\n"
                  "c = QuantizeLinear (x, step, none)\n"
                  "d = DequantizeLinear (c, step, none)\n"
                  "f = Constant <value_float = 0.4472136> ()\n"
                  "q = Mul (d, f)\n"
                  "k = Transpose <perm = [0,2,1]> (x)\n"
                  "s = MatMul (q, k)\n"
                  "p = Softmax (s)\n"
                  "y = MatMul (p, x)");
  const Model model = from_onnx(file.SerializeAsString());
  Tensor x({2, 4, 5});
  Rng(3).fill_uniform(x, -1, 1);
  const OnnxReference reference =
      onnx_reference_from_bytes(file.SerializeAsString());
  const Tensor expected = reference.predict(x);
  const Tensor y = model.predict(x);
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(std::as_const(y).f32()[i], expected.f32()[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace octet::io
