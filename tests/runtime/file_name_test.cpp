#include <gtest/gtest.h>

#include <octet/runtime/detail/file_name.h>

#include "tests/support.h"
#include "tests/temp_folder.h"

namespace octet {
namespace {

TEST(FileName, RejectsExtensionsOfOtherFormatsInAnyCase) {
  for (const char* name : {"m.engine", "a/b/M.ENGINE", "m.plan"}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { check_file_name(name, "an ONNX model", {".onnx"}); }),
              (Failure{"unsupported_format", name}));
  }
}

TEST(FileName, OfOtherRuntimesIsRefused) {
  for (const char* name : {"m.ort", "m.rknn", "m.mnn", "m.ckpt", "m.pt2"}) {
    EXPECT_THROW(check_file_name(name, "an ONNX model", {".onnx"}), ValueError)
        << name;
  }
}

TEST(FileName, AcceptsItsOwnAndUnknownExtensions) {
  for (const char* name : {"m.onnx", "M.ONNX", "m", "m.v2", "m.onnx.new", "",
                           "/dev/stdout", ".engine"}) {
    EXPECT_NO_THROW(check_file_name(name, "an ONNX model", {".onnx"})) << name;
  }
}

}  // namespace
}  // namespace octet
