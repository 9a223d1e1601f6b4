#include "all_gather_or_throw.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "bytes.h"

namespace octet::train {
namespace {

/// Serializes an error. Exceptions of other types become InternalErrors.
std::string serialize(const std::exception& error) {
  BytesWriter bytes;
  const auto* own = dynamic_cast<const Error*>(&error);
  bytes.add_value(own != nullptr ? own->kind() : ErrorKind::internal);
  bytes.add_text(own != nullptr ? std::string_view(own->code()) : "internal");
  bytes.add_text(own != nullptr ? std::string_view(own->subject()) : "");
  bytes.add_text(own != nullptr ? own->text() : error.what());
  bytes.add_value(uint64_t{own != nullptr ? own->context().size() : 0});
  if (own != nullptr) {
    for (const std::string& frame : own->context()) bytes.add_text(frame);
  }
  return bytes.take();
}

/// Throws the serialized error as its type.
[[noreturn]] void raise(const std::string& bytes_of_error,
                        const std::string& where) {
  BytesReader bytes(bytes_of_error);
  const auto kind = bytes.value<ErrorKind>();
  std::string code = bytes.text();
  std::string subject = bytes.text();
  std::string text = bytes.text();
  Error error(kind, std::move(code), std::move(subject), std::move(text));
  for (auto left = bytes.value<uint64_t>(); left > 0; --left) {
    error.add_context(bytes.text());
  }
  if (!where.empty()) error.add_context(where);
  switch (kind) {
    case ErrorKind::shape:
      throw ShapeError(error);
    case ErrorKind::value:
      throw ValueError(error);
    case ErrorKind::not_found:
      throw NotFoundError(error);
    case ErrorKind::unsupported:
      throw UnsupportedError(error);
    case ErrorKind::format:
      throw FormatError(error);
    case ErrorKind::io:
      throw IoError(error);
    case ErrorKind::interrupted:
      throw InterruptedError(error);
    case ErrorKind::internal:
      break;
  }
  throw InternalError(error);
}

}  // namespace

std::vector<std::string> all_gather_or_throw(
    Communicator& ranks, const std::function<std::string()>& body) {
  if (ranks.size() == 1) return {body()};
  constexpr char kDone = 'd';
  constexpr char kFailed = 'f';
  std::string own;
  try {
    own = kDone + body();
  } catch (const std::exception& error) {
    own = kFailed + serialize(error);
  } catch (...) {
    own = kFailed + serialize(std::runtime_error("an unknown exception"));
  }
  std::vector<std::string> all = ranks.gather(own);
  const auto failed = std::ranges::find_if(
      all, [](const std::string& text) { return text.front() == kFailed; });
  if (failed != all.end()) {
    const bool same = std::ranges::all_of(
        all, [&](const std::string& text) { return text == *failed; });
    raise(failed->substr(1),
          same ? ""
               : fmt::format("on rank {} of {}", failed - all.begin(),
                             ranks.size()));
  }
  for (std::string& text : all) text.erase(0, 1);
  return all;
}

void run_on_all(Communicator& ranks, const std::function<void()>& body) {
  all_gather_or_throw(ranks, [&] {
    body();
    return std::string();
  });
}

}  // namespace octet::train
