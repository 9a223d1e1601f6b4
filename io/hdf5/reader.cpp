#include "reader.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file.h"
#include "request.h"
#include "worker.h"

namespace octet::io {
namespace {

using Op = Hdf5Request::Op;

class InThisProcess : public Hdf5Backend {
 public:
  explicit InThisProcess(std::string contents)
      : contents_(std::move(contents)) {
    const LibraryLock lock;
    file_.emplace(contents_);
  }
  ~InThisProcess() override {
    const LibraryLock lock;
    file_.reset();
  }

  Config respond(const Hdf5Request& request) override {
    const LibraryLock lock;
    return file_->respond(request);
  }
  Tensor read(const Hdf5Request& request) override {
    const LibraryLock lock;
    const std::vector<char> elements = file_->read(request);
    Tensor tensor(request.expected, request.type);
    std::copy(elements.begin(), elements.end(),
              static_cast<char*>(tensor.raw()));
    return tensor;
  }

 private:
  std::string contents_;
  std::optional<Hdf5File> file_;
};

std::unique_ptr<Hdf5Backend> backend_for(std::string contents,
                                         const FileLimits& limits,
                                         Hdf5Hook before_response) {
  if (!is_hdf5(contents)) {
    throw FormatError("unsupported_format", "HDF5 file",
                      contents.empty() ? "is empty" : "has no HDF5 signature");
  }
  if (limits.isolation == Isolation::none) {
    return std::make_unique<InThisProcess>(std::move(contents));
  }
  return std::make_unique<Hdf5Worker>(std::move(contents), limits,
                                      before_response);
}

// A malicious file may control the worker: responses are validated.
void check_response(bool is_sound) {
  if (!is_sound) {
    throw FormatError("malformed_file", "HDF5 file",
                      "invalid response of the worker process");
  }
}

std::vector<std::string> strings_in(const Config& response) {
  check_response(response.is_list());
  std::vector<std::string> strings;
  for (const Config& entry : response.as_list()) {
    check_response(entry.is_string());
    strings.push_back(entry.as_string());
  }
  return strings;
}

}  // namespace

bool is_hdf5(std::string_view contents) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  for (size_t at = 0; at < contents.size(); at = at == 0 ? 512 : 2 * at) {
    if (contents.substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

Hdf5Reader::Hdf5Reader(std::string contents, std::string name,
                       const FileLimits& limits, Hdf5Hook before_response)
    : name_(std::move(name)) {
  with_context([&] { return fmt::format("in file '{}'", name_); },
               [&] {
                 backend_ =
                     backend_for(std::move(contents), limits, before_response);
               });
}

Hdf5Reader::~Hdf5Reader() = default;
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;

template <class Body>
auto Hdf5Reader::in_file(Body body) const {
  return with_context([&] { return fmt::format("in file '{}'", name_); }, body);
}

Hdf5Kind Hdf5Reader::kind(const std::string& path) const {
  return in_file([&] {
    const Config response = backend_->respond({.op = Op::kind, .path = path});
    if (response.is_null()) return Hdf5Kind::absent;
    check_response(response.is_bool());
    return response.as_bool() ? Hdf5Kind::dataset : Hdf5Kind::group;
  });
}

std::vector<std::string> Hdf5Reader::children(const std::string& group) const {
  return in_file([&] {
    return strings_in(backend_->respond({.op = Op::children, .path = group}));
  });
}

std::optional<Config> Hdf5Reader::attribute(const std::string& object,
                                            const std::string& name) const {
  return in_file([&]() -> std::optional<Config> {
    Config response =
        backend_->respond({.op = Op::attribute, .path = object, .name = name});
    if (response.is_null()) return std::nullopt;
    return response;
  });
}

std::optional<std::vector<std::string>> Hdf5Reader::strings(
    const std::string& object, const std::string& name) const {
  return in_file([&]() -> std::optional<std::vector<std::string>> {
    const Config response =
        backend_->respond({.op = Op::strings, .path = object, .name = name});
    if (response.is_null()) return std::nullopt;
    return strings_in(response);
  });
}

Shape Hdf5Reader::shape(const std::string& dataset) const {
  return in_file([&] {
    const Config response =
        backend_->respond({.op = Op::shape, .path = dataset});
    check_response(response.is_list() &&
                   response.as_list().size() <= Shape::kMaxRank);
    std::vector<int64_t> dims;
    for (const Config& dim : response.as_list()) {
      check_response(dim.is_int() && dim.as_int() >= 0);
      dims.push_back(dim.as_int());
    }
    return Shape(std::span<const int64_t>(dims));
  });
}

Tensor Hdf5Reader::f32(const std::string& dataset,
                       const Shape& expected) const {
  return read(dataset, expected, DType::f32);
}

Tensor Hdf5Reader::i64(const std::string& dataset,
                       const Shape& expected) const {
  return read(dataset, expected, DType::i64);
}

Tensor Hdf5Reader::read(const std::string& dataset, const Shape& expected,
                        DType type) const {
  return in_file([&] {
    if (expected.size() > kMostDatasetBytes / size_of(type)) {
      throw FormatError("size_limit", path_text(dataset),
                        fmt::format("must have at most {} bytes, got shape {}",
                                    kMostDatasetBytes, expected.to_string()));
    }
    return backend_->read(
        {.op = Op::read, .path = dataset, .type = type, .expected = expected});
  });
}

}  // namespace octet::io
