// External tensor data: read from files in the model's folder, rejected if the
// path leads elsewhere.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "onnx_run.h"
#include "support.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// y = x + w with w of two floats at offset 4 of a file.
class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    model_ = model_of(
        "g (float[2] x) => (float[2] y) {\n"
        "  y = Add (x, w)\n"
        "}");
    auto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    set("location", "weights.bin");
    set("offset", "4");
    set("length", "8");
    const std::vector<float> data{7, 1.5f, -2};
    write_file(folder_ / "weights.bin",
               std::string(reinterpret_cast<const char*>(data.data()), 12));
  }

  void set(const std::string& key, const std::string& value) {
    auto& entries = *initializer(model_, "w").mutable_external_data();
    for (auto& entry : entries) {
      if (entry.key() == key) return entry.set_value(value);
    }
    entries.Add()->set_key(key);
    entries.rbegin()->set_value(value);
  }

  OnnxReference load(const FileLimits& limits = {}) {
    save(model_, folder_ / "model.onnx");
    return load_onnx_reference(folder_ / "model.onnx", limits);
  }
  template <class Expected = FormatError>
  Failure refusal_to_load() {
    return failure_of<Expected>([&] { load(); });
  }
  Failure refusal_of_location(const std::string& location) {
    set("location", location);
    return refusal_to_load();
  }

  TempFolder folder_;
  onnx::ModelProto model_;
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  EXPECT_THAT(values_of(load().predict(numbers({1, 1}))),
              ElementsAre(2.5f, -1));
}

TEST_F(ExternalData, MayBeInASubfolderAndHaveNoLength) {
  fs::create_directory(folder_ / "data");
  fs::rename(folder_ / "weights.bin", folder_ / "data" / "weights.bin");
  set("location", "./data/weights.bin");
  initializer(model_, "w").mutable_external_data()->RemoveLast();
  EXPECT_THAT(values_of(load().predict(numbers({1, 1}))),
              ElementsAre(2.5f, -1));
}

TEST_F(ExternalData, UnknownKeysAreIgnored) {
  set("checksum", "none");
  set("basepath", "/etc");
  EXPECT_THAT(values_of(load().predict(numbers({0, 0}))),
              ElementsAre(1.5f, -2));
}

TEST_F(ExternalData, OfAConstantIsReadToo) {
  onnx::TensorProto tensor = initializer(model_, "w");
  model_.mutable_graph()->clear_initializer();
  auto* add = model_.mutable_graph()->mutable_node(0);
  onnx::NodeProto constant;
  constant.set_op_type("Constant");
  constant.add_output("w");
  auto* value = constant.add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = tensor;
  // After its consumer, as in files of some writers.
  add->set_name("sum");
  *model_.mutable_graph()->add_node() = constant;
  EXPECT_THAT(values_of(load().predict(numbers({1, 1}))),
              ElementsAre(2.5f, -1));
}

TEST_F(ExternalData, MustBeInTheFolderOfTheModel) {
  for (const char* location :
       {"/etc/passwd", "../weights.bin", "data/../../weights.bin", "..", "",
        "weights.bin/"}) {
    EXPECT_EQ(refusal_of_location(location),
              (Failure{"invalid_graph", "initializer 'w'"}))
        << location;
  }
  EXPECT_EQ(refusal_of_location(std::string("weights.bin\0", 12)),
            (Failure{"invalid_graph", "initializer 'w'"}));
}

TEST_F(ExternalData, IsNotReadThroughLinks) {
  fs::create_symlink("/etc/passwd", folder_ / "link.bin");
  EXPECT_EQ(refusal_of_location("link.bin"),
            (Failure{"invalid_graph", "initializer 'w'"}));
  fs::create_directory_symlink("/etc", folder_ / "link");
  EXPECT_EQ(refusal_of_location("link/passwd"),
            (Failure{"invalid_graph", "initializer 'w'"}));
  fs::create_hard_link(folder_ / "weights.bin", folder_ / "second.bin");
  EXPECT_EQ(refusal_of_location("second.bin"),
            (Failure{"invalid_graph", "initializer 'w'"}));
}

TEST_F(ExternalData, MustBeAPlainFile) {
  fs::create_directory(folder_ / "data");
  EXPECT_EQ(refusal_of_location("data"),
            (Failure{"invalid_graph", "initializer 'w'"}));
  set("location", "none.bin");
  EXPECT_EQ(refusal_to_load<IoError>(),
            (Failure{"file_not_found", "initializer 'w'"}));
}

TEST_F(ExternalData, MustBeAsLongAsItsTensor) {
  set("length", "4");
  EXPECT_EQ(refusal_to_load(), (Failure{"malformed_file", "initializer 'w'"}));
  set("length", "8");
  for (const char* offset : {"5", "12", "9223372036854775807"}) {
    set("offset", offset);
    EXPECT_EQ(refusal_to_load(), (Failure{"truncated_file", "initializer 'w'"}))
        << offset;
  }
  for (const char* offset : {"-4", "4x", "", "99999999999999999999"}) {
    set("offset", offset);
    EXPECT_EQ(refusal_to_load(), (Failure{"malformed_file", "initializer 'w'"}))
        << offset;
  }
}

TEST_F(ExternalData, RespectsTheMemoryLimit) {
  // The same part of a file many times.
  set("offset", "0");
  set("length", "4194304");
  initializer(model_, "w").set_dims(0, 1 << 20);
  fs::resize_file(folder_ / "weights.bin", 4 << 20);
  const onnx::TensorProto tensor = initializer(model_, "w");
  for (int i = 0; i < 8; ++i) {
    auto* more = model_.mutable_graph()->add_initializer();
    *more = tensor;
    more->set_name("w" + std::to_string(i));
  }
  FileLimits limits;
  limits.memory_limit = 16 << 20;
  EXPECT_EQ(failure_of<FormatError>([&] { load(limits); }),
            (Failure{"memory_limit", "ONNX model"}));
}

TEST_F(ExternalData, HasNoFolderWithoutAFile) {
  EXPECT_EQ(failure_of<FormatError>([&] { to_run(model_); }),
            (Failure{"invalid_graph", "initializer 'w'"}));
}

}  // namespace
}  // namespace octet::io
