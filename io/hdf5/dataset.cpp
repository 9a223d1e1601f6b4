#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "file.h"
#include "numbers.h"
#include "printable.h"

namespace octet::io {
namespace {

// Source: the HDF Group's list of registered filters.
const char* filter_name(H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE:
      return "gzip";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    case 307:
      return "bzip2";
    case 32000:
      return "lzf";
    case 32001:
      return "blosc";
    case 32004:
      return "lz4";
    case 32008:
      return "bitshuffle";
    case 32013:
      return "zfp";
    case 32015:
      return "zstd";
    case 32017:
      return "sz";
    case 32026:
      return "blosc2";
    default:
      return "unknown";
  }
}

std::string dims_text(std::span<const hsize_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

/// Returns dimensions whose product fits into 63 bits.
std::vector<hsize_t> dims_of(hid_t dataset, const std::string& subject) {
  const Handle space =
      opened(H5Dget_space(dataset), H5Sclose, subject, "find its dimensions");
  switch (H5Sget_simple_extent_type(space.get())) {
    case H5S_SCALAR:
      return {};
    case H5S_SIMPLE:
      break;
    default:
      throw FormatError("invalid_shape", subject, "has no dimensions");
  }
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail_in_library(subject, "count its dimensions");
  if (rank > Shape::kMaxRank) {
    throw FormatError("invalid_shape", subject,
                      fmt::format("must have at most {} dimensions, got {}",
                                  Shape::kMaxRank, rank));
  }
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  if (rank > 0 &&
      H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) != rank) {
    fail_in_library(subject, "find its dimensions");
  }
  int64_t size = 1;
  bool overflow = false;
  for (const hsize_t dim : dims) {
    overflow |= dim > hsize_t{INT64_MAX} ||
                __builtin_mul_overflow(size, std::max<hsize_t>(dim, 1), &size);
  }
  if (overflow) {
    throw FormatError("size_limit", subject,
                      fmt::format("must have fewer than 2^63 elements, got {}",
                                  dims_text(dims)));
  }
  return dims;
}

/// Rejects external and virtual data, and filters that are not installed.
void check_storage(hid_t dataset, const std::string& subject) {
  const Handle list = opened(H5Dget_create_plist(dataset), H5Pclose, subject,
                             "find how it is stored");
  const int files = H5Pget_external_count(list.get());
  if (files != 0) {
    throw FormatError("unsupported_format", subject,
                      "data in external files is not supported");
  }
  switch (H5Pget_layout(list.get())) {
    case H5D_COMPACT:
    case H5D_CONTIGUOUS:
    case H5D_CHUNKED:
      break;
    case H5D_VIRTUAL:
      throw FormatError("unsupported_format", subject,
                        "virtual datasets are not supported");
    default:
      throw FormatError("unsupported_format", subject,
                        "unknown storage layout");
  }
  const int filters = H5Pget_nfilters(list.get());
  if (filters < 0) fail_in_library(subject, "find its filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t id =
        H5Pget_filter2(list.get(), i, &flags, &values, nullptr, name.size() - 1,
                       name.data(), &config);
    if (id < 0) fail_in_library(subject, "find its filters");
    if (H5Zfilter_avail(id) <= 0) {
      throw UnsupportedError(
          "unsupported_format", subject,
          fmt::format("the filter {} ({}{}{}) is not part of libhdf5. Hint: "
                      "save the file with gzip or without compression",
                      filter_name(id), id, name[0] != '\0' ? ", " : "",
                      printable(name.data())));
    }
  }
}

void check_shape(std::span<const hsize_t> dims, const Shape& expected,
                 const std::string& subject) {
  bool same = dims.size() == expected.dims().size();
  for (size_t i = 0; same && i < dims.size(); ++i) {
    same = dims[i] == static_cast<hsize_t>(expected.dims()[i]);
  }
  if (!same) {
    throw FormatError("shape_mismatch", subject,
                      fmt::format("must have shape {}, got {}",
                                  expected.to_string(), dims_text(dims)));
  }
}

/// Keras stores bfloat16 as two opaque bytes, marked by an attribute.
std::optional<NumberFormat> opaque_bfloat(hid_t dataset, hid_t type,
                                          const std::string& path) {
  if (H5Tget_class(type) != H5T_OPAQUE || H5Tget_size(type) != 2) return {};
  const Config name = attribute_value(dataset, path, "dtype");
  if (!name.is_string() || name.as_string() != "bfloat16") return {};
  return NumberFormat{NumberFormat::Kind::bfloat, 2, false};
}

/// Rejects datasets without stored values: fill values are not weights.
void check_written(hid_t dataset, const std::string& subject) {
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  if (H5Dget_space_status(dataset, &status) < 0) {
    fail_in_library(subject, "find how it is stored");
  }
  if (status == H5D_SPACE_STATUS_NOT_ALLOCATED) {
    throw FormatError("missing_value", subject, "has no stored values");
  }
}

/// Reads elements as stored in the file: an equal memory type makes libhdf5
/// copy without conversion.
void read_raw(hid_t dataset, hid_t type, const std::string& subject,
              char* out) {
  const Handle same = opened(H5Tcopy(type), H5Tclose, subject, "copy its type");
  if (H5Dread(dataset, same.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) {
    fail_in_library(subject, "read it");
  }
}

std::vector<char> to_bytes(const std::vector<char>& raw,
                           const NumberFormat& format, DType type, size_t count,
                           const std::string& subject) {
  std::vector<char> out(count * static_cast<size_t>(size_of(type)));
  if (type == DType::f32) {
    to_floats(raw.data(), format,
              {reinterpret_cast<float*>(out.data()), count});
    return out;
  }
  auto* to = reinterpret_cast<int64_t*>(out.data());
  for (size_t i = 0; i < count; ++i) {
    const std::optional<int64_t> value = integer_at(raw.data(), i, format);
    if (!value) {
      throw FormatError(
          "out_of_range", subject,
          fmt::format(
              "integers must be below 2^63, got a larger one at index {}", i));
    }
    to[i] = *value;
  }
  return out;
}

}  // namespace

Config dataset_shape(hid_t dataset, const std::string& path) {
  Config::List list;
  for (const hsize_t dim : dims_of(dataset, path_text(path))) {
    list.emplace_back(static_cast<int64_t>(dim));
  }
  return list;
}

std::vector<char> dataset_elements(hid_t dataset, const Hdf5Request& request) {
  const std::string subject = path_text(request.path);
  check_shape(dims_of(dataset, subject), request.expected, subject);
  const Handle type =
      opened(H5Dget_type(dataset), H5Tclose, subject, "find its type");
  std::optional<NumberFormat> format = number_format(type.get());
  if (!format) format = opaque_bfloat(dataset, type.get(), request.path);
  const bool wants_floats = request.type == DType::f32;
  if (!format || !(wants_floats ? format->is_float() : format->is_integer())) {
    throw FormatError(
        "unsupported_type", subject,
        fmt::format("must be {}, got {}", wants_floats ? "floats" : "integers",
                    type_text(type.get())));
  }
  check_storage(dataset, subject);
  const int64_t count = request.expected.size();
  const auto largest =
      std::max(static_cast<int64_t>(format->bytes), size_of(request.type));
  if (count > kMostDatasetBytes / largest) {
    throw FormatError(
        "size_limit", subject,
        fmt::format("must have at most {} bytes, got shape {}",
                    kMostDatasetBytes, request.expected.to_string()));
  }
  const auto elements = static_cast<size_t>(count);
  if (elements == 0) return {};
  check_written(dataset, subject);
  std::vector<char> raw(elements * format->bytes);
  read_raw(dataset, type.get(), subject, raw.data());
  if (wants_floats && format->kind == NumberFormat::Kind::single &&
      !format->swapped) {
    return raw;
  }
  return to_bytes(raw, *format, request.type, elements, subject);
}

}  // namespace octet::io
