#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/c/octet_session.h>
#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>
#include <octet/session/detail/session_file.h>

struct octet_session {
  octet::InferenceSession session;
};

struct octet_result {
  std::vector<octet::Tensor> outputs;
};

namespace {

using octet::DType;
using octet::ErrorKind;
using octet::SessionOptions;
using octet::Shape;
using octet::ShapeError;
using octet::Tensor;
using octet::TensorSpec;
using octet::ValueError;

struct LastError {
  std::string text, code;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

octet_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape:
      return OCTET_ERROR_SHAPE;
    case ErrorKind::value:
      return OCTET_ERROR_VALUE;
    case ErrorKind::not_found:
      return OCTET_ERROR_NOT_FOUND;
    case ErrorKind::unsupported:
      return OCTET_ERROR_UNSUPPORTED;
    case ErrorKind::format:
      return OCTET_ERROR_FORMAT;
    case ErrorKind::io:
      return OCTET_ERROR_IO;
    case ErrorKind::interrupted:
    case ErrorKind::internal:
      break;
  }
  return OCTET_ERROR_INTERNAL;
}

octet_status fail(octet_status status, std::string_view code,
                  std::string_view text) noexcept {
  try {
    last_error().code = code;
    last_error().text = text;
  } catch (...) {
    return OCTET_ERROR_OUT_OF_MEMORY;
  }
  return status;
}

// Returns the status of `body`.
template <class Body>
octet_status guarded(const Body& body) noexcept {
  try {
    body();
    return OCTET_OK;
  } catch (const octet::Error& error) {
    return fail(status_of(error.kind()), error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(OCTET_ERROR_OUT_OF_MEMORY, "out_of_memory", "out of memory");
  } catch (const std::exception& error) {
    return fail(OCTET_ERROR_INTERNAL, "internal", error.what());
  } catch (...) {
    return fail(OCTET_ERROR_INTERNAL, "internal", "unknown exception");
  }
}

void expect_pointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return;
  throw ValueError("missing_value", name, "must not be NULL");
}

// Copies the fields that the caller's version of a structure has.
template <class T>
T known_fields(const T& given, const char* name) {
  constexpr size_t kMostBytes = 4096;
  if (given.size < sizeof(given.size) || given.size > kMostBytes) {
    throw ValueError(
        "invalid_value", name,
        fmt::format("size must be sizeof({}), got {}", name, given.size));
  }
  T known{};
  std::memcpy(&known, &given, std::min(sizeof(T), given.size));
  return known;
}

SessionOptions options_from(const octet_session_options* given) {
  if (given == nullptr) return {};
  const auto known = known_fields(*given, "octet_session_options");
  return {.threads = known.threads,
          .max_batch = known.max_batch,
          .memory_limit = known.memory_limit,
          .time_limit = known.time_limit};
}

void describe(const std::vector<TensorSpec>& specs, size_t index,
              octet_tensor_info* info) {
  expect_pointer(info, "info");
  const size_t size = known_fields(*info, "octet_tensor_info").size;
  if (index >= specs.size()) {
    throw octet::NotFoundError(
        "out_of_range", "index",
        fmt::format("must be in [0,{}), got {}", specs.size(), index));
  }
  const TensorSpec& spec = specs[index];
  octet_tensor_info known{};
  known.size = size;
  known.name = spec.name.c_str();
  known.dtype = OCTET_F32;
  known.rank = spec.shape.rank() + 1;
  known.shape[0] = -1;
  std::ranges::copy(spec.shape.dims(), known.shape + 1);
  known.sample_bytes = static_cast<size_t>(spec.shape.size()) * sizeof(float);
  std::memcpy(info, &known, std::min(size, sizeof(known)));
}

// An uninitialized tensor for a buffer, which must have its size.
Tensor tensor_for(const octet_buffer& buffer, const TensorSpec& spec,
                  int64_t samples) {
  std::vector<int64_t> dims{samples};
  dims.insert(dims.end(), spec.shape.dims().begin(), spec.shape.dims().end());
  const Shape shape{std::span<const int64_t>(dims)};
  const auto bytes = static_cast<size_t>(shape.size()) * sizeof(float);
  expect_pointer(buffer.data, spec.name.c_str());
  if (buffer.bytes != bytes) {
    throw ShapeError("shape_mismatch", fmt::format("'{}'", spec.name),
                     fmt::format("buffer must have {} bytes for f32 {}, got {}",
                                 bytes, shape.to_string(), buffer.bytes));
  }
  return Tensor(shape);
}

std::vector<Tensor> tensors_for(const octet_buffer* buffers, size_t count,
                                const std::vector<TensorSpec>& specs,
                                int64_t samples, const char* what) {
  expect_pointer(buffers, what);
  if (count != specs.size()) {
    throw ValueError("count_mismatch", what,
                     fmt::format("number of buffers must be {}, got {}",
                                 specs.size(), count));
  }
  if (samples < 1) {
    throw ValueError("out_of_range", "samples",
                     fmt::format("must be at least 1, got {}", samples));
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    tensors.push_back(tensor_for(buffers[i], specs[i], samples));
  }
  return tensors;
}

std::vector<Tensor> inputs_from(const octet_session& session, int64_t samples,
                                const octet_buffer* inputs, size_t count) {
  std::vector<Tensor> tensors =
      tensors_for(inputs, count, session.session.inputs(), samples, "inputs");
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(tensors[i].raw(), inputs[i].data, inputs[i].bytes);
  }
  return tensors;
}

octet_session* compiled(octet::Model model, const SessionOptions& options) {
  return new octet_session{octet::InferenceSession(std::move(model), options)};
}

}  // namespace

extern "C" {

const char* octet_version(void) { return octet::version(); }
int32_t octet_api_version(void) { return OCTET_API_VERSION; }

const char* octet_last_error(void) { return last_error().text.c_str(); }
const char* octet_last_error_code(void) { return last_error().code.c_str(); }

octet_status octet_session_load(const char* path,
                                const octet_session_options* options,
                                octet_session** session) {
  return guarded([&] {
    expect_pointer(path, "path");
    expect_pointer(session, "session");
    const SessionOptions known = options_from(options);
    *session = compiled(octet::session::load_session_model(path), known);
  });
}

octet_status octet_session_load_bytes(const void* bytes, size_t count,
                                      const octet_session_options* options,
                                      octet_session** session) {
  return guarded([&] {
    expect_pointer(bytes, "bytes");
    expect_pointer(session, "session");
    const SessionOptions known = options_from(options);
    const std::string_view contents(static_cast<const char*>(bytes), count);
    *session = compiled(
        octet::session::model_of(octet::session::parse_session_file(contents)),
        known);
  });
}

void octet_session_free(octet_session* session) { delete session; }

size_t octet_session_input_count(const octet_session* session) {
  return session == nullptr ? 0 : session->session.inputs().size();
}

size_t octet_session_output_count(const octet_session* session) {
  return session == nullptr ? 0 : session->session.outputs().size();
}

octet_status octet_session_input(const octet_session* session, size_t index,
                                 octet_tensor_info* info) {
  return guarded([&] {
    expect_pointer(session, "session");
    describe(session->session.inputs(), index, info);
  });
}

octet_status octet_session_output(const octet_session* session, size_t index,
                                  octet_tensor_info* info) {
  return guarded([&] {
    expect_pointer(session, "session");
    describe(session->session.outputs(), index, info);
  });
}

octet_status octet_session_run_into(const octet_session* session,
                                    int64_t samples, const octet_buffer* inputs,
                                    size_t input_count,
                                    const octet_buffer* outputs,
                                    size_t output_count) {
  return guarded([&] {
    expect_pointer(session, "session");
    std::vector<Tensor> y = tensors_for(
        outputs, output_count, session->session.outputs(), samples, "outputs");
    session->session.run_into(
        inputs_from(*session, samples, inputs, input_count), y);
    for (size_t i = 0; i < y.size(); ++i) {
      std::memcpy(outputs[i].data, std::as_const(y[i]).raw(), outputs[i].bytes);
    }
  });
}

octet_status octet_session_run(const octet_session* session, int64_t samples,
                               const octet_buffer* inputs, size_t input_count,
                               octet_result** result) {
  return guarded([&] {
    expect_pointer(session, "session");
    expect_pointer(result, "result");
    *result = new octet_result{session->session.run(
        inputs_from(*session, samples, inputs, input_count))};
  });
}

octet_buffer octet_result_output(const octet_result* result, size_t index) {
  if (result == nullptr || index >= result->outputs.size()) return {nullptr, 0};
  const Tensor& output = result->outputs[index];
  return {const_cast<void*>(output.raw()), static_cast<size_t>(output.bytes())};
}

void octet_result_free(octet_result* result) { delete result; }

}  // extern "C"
