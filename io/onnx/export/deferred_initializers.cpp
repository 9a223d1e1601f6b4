#include "deferred_initializers.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <octet/runtime/error.h>

#include "onnx/check/check.h"

namespace octet::io {
namespace {

using google::protobuf::io::CodedOutputStream;

/// Output of a protobuf stream. The stream's destructor writes, too, so
/// exceptions are stored for rethrow().
class Sink final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit Sink(const PutBytes& put) : put_(put) {}
  bool Write(const void* bytes, int size) override {
    if (error_) return false;
    try {
      put_({static_cast<const char*>(bytes), static_cast<size_t>(size)});
    } catch (...) {
      error_ = std::current_exception();
    }
    return !error_;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const PutBytes& put_;
  std::exception_ptr error_;
};

/// Tag of a field of bytes or of a message.
/// Source: protobuf.dev, "Encoding", wire type 2.
uint32_t tag_of(int number) { return static_cast<uint32_t>(number) << 3 | 2; }

/// Size including tag and length.
size_t size_of_field(int number, size_t length) {
  return CodedOutputStream::VarintSize32(tag_of(number)) +
         CodedOutputStream::VarintSize64(length) + length;
}

void begin_field(CodedOutputStream& out, int number, size_t length) {
  out.WriteTag(tag_of(number));
  out.WriteVarint64(length);
}

size_t data_bytes(const LargeConstant& constant) {
  return static_cast<size_t>(constant.value.bytes());
}

/// Size of an initializer, without tag and length.
size_t size_of_tensor(const onnx::TensorProto& header, size_t data) {
  return header.ByteSizeLong() +
         size_of_field(onnx::TensorProto::kRawDataFieldNumber, data);
}

Tensor stored(const LargeConstant& constant, const onnx::TensorProto& header) {
  Tensor result = constant.stored.apply(constant.value);
  const auto dims = result.shape().dims();
  if (!std::equal(dims.begin(), dims.end(), header.dims().begin(),
                  header.dims().end())) {
    throw InternalError("internal",
                        fmt::format("ONNX initializer '{}'", header.name()),
                        "shape differs from the one it was added with: " +
                            result.shape().to_string());
  }
  return result;
}

/// Removes the initializers without data from a graph and returns them in
/// order.
std::vector<onnx::TensorProto> take_headers(onnx::GraphProto& graph,
                                            const LargeConstants& constants) {
  std::vector<onnx::TensorProto> headers;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> rest;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (constants.contains(tensor.name())) {
      headers.push_back(std::move(tensor));
    } else {
      *rest.Add() = std::move(tensor);
    }
  }
  graph.mutable_initializer()->Swap(&rest);
  return headers;
}

void add_inputs(onnx::GraphProto& graph,
                const std::vector<onnx::TensorProto>& headers) {
  for (const onnx::TensorProto& header : headers) {
    auto* input = graph.add_input();
    input->set_name(header.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(header.data_type());
    type->mutable_shape();
    for (const int64_t size : header.dims()) {
      type->mutable_shape()->add_dim()->set_dim_value(size);
    }
  }
}

}  // namespace

void fill_in(onnx::GraphProto& graph, const LargeConstants& constants) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto found = constants.find(tensor.name());
    if (found == constants.end()) continue;
    const Tensor value = stored(found->second, tensor);
    tensor.set_raw_data(value.raw(), static_cast<size_t>(value.bytes()));
  }
}

// Fields of a message may be in any order: initializers that are not in the
// graph are written last.
int64_t write_onnx(onnx::ModelProto& model, const LargeConstants& constants,
                   const PutBytes& put) {
  std::unique_ptr<onnx::GraphProto> graph(model.release_graph());
  const auto headers = take_headers(*graph, constants);
  size_t graph_size = graph->ByteSizeLong();
  for (const onnx::TensorProto& header : headers) {
    const size_t data = data_bytes(constants.at(header.name()));
    graph_size += size_of_field(onnx::GraphProto::kInitializerFieldNumber,
                                size_of_tensor(header, data));
  }
  const size_t size =
      model.ByteSizeLong() +
      size_of_field(onnx::ModelProto::kGraphFieldNumber, graph_size);
  expect_below_2_gib(size);
  bool written = true;
  Sink sink(put);
  {
    google::protobuf::io::CopyingOutputStreamAdaptor stream(&sink, 1 << 20);
    CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    written = model.SerializeToCodedStream(&out);
    begin_field(out, onnx::ModelProto::kGraphFieldNumber, graph_size);
    written = written && graph->SerializeToCodedStream(&out);
    for (const onnx::TensorProto& header : headers) {
      const Tensor value = stored(constants.at(header.name()), header);
      const auto data = static_cast<size_t>(value.bytes());
      begin_field(out, onnx::GraphProto::kInitializerFieldNumber,
                  size_of_tensor(header, data));
      written = written && header.SerializeToCodedStream(&out);
      begin_field(out, onnx::TensorProto::kRawDataFieldNumber, data);
      out.WriteRaw(value.raw(), static_cast<int>(data));
    }
    out.Trim();
    written = written && !out.HadError() && stream.Flush();
  }
  sink.rethrow();
  if (!written) {
    throw InternalError("internal", "ONNX export",
                        "protobuf cannot serialize the model");
  }
  add_inputs(*graph, headers);
  model.set_allocated_graph(graph.release());
  return static_cast<int64_t>(size);
}

}  // namespace octet::io
